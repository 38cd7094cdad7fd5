//! Figures and tables as plain values, which a study returns and this crate draws.

/// A page: the results of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// What was done with what data, in sentences; one paragraph each. Several lines are a list.
    pub paragraphs: Vec<String>,
    /// The results, in reading order.
    pub exhibits: Vec<Exhibit>,
}

/// A figure, a row of maps, or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Exhibit {
    /// A figure.
    Figure(Figure),
    /// Maps.
    Maps(Maps),
    /// A table.
    Table(Table),
}

/// Curves over one pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The stem of its files: lower case, digits and `-`.
    pub name: String,
    /// The heading.
    pub title: String,
    /// What the figure shows and what follows from it; a sentence or two, or a list of one line for each device.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: AxisScale,
    /// Whether the axis begins at zero, whatever the values, as for ratios. Only a linear axis can.
    pub is_from_zero: bool,
}

/// How values are spaced along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisScale {
    /// Evenly.
    Linear,
    /// Evenly, for numbers of things: only whole numbers stand at the axis.
    Whole,
    /// By powers of ten; values of zero and below cannot be shown on it.
    Log,
    /// By powers of two, for quantities that double from one point to the next: 1, 2, 4, 8. Zero and below cannot be
    /// shown on it.
    Octaves,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Line, points or bars.
    pub style: Style,
    /// The number of its colour, from 0, for curves that belong together; `None` for that of its place in the figure.
    pub colour: Option<usize>,
    /// The points, in the order in which they are joined.
    pub points: Vec<CurvePoint>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A line.
    Line,
    /// A dashed line.
    Dashed,
    /// Points that are not joined.
    Points,
    /// Bars from zero.
    Bars,
    /// The area that the points enclose, shaded behind all else.
    Band,
}

/// One point of a curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvePoint {
    /// The value along the horizontal axis.
    pub x: f64,
    /// The value along the vertical axis.
    pub y: f64,
    /// The text beside the point; empty for none.
    pub label: String,
}

/// Matrices drawn as squares of grey, side by side: the lighter, the larger the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Maps {
    /// The stem of its files: lower case, digits and `-`.
    pub name: String,
    /// The heading.
    pub title: String,
    /// What the maps show and what follows from it; a sentence or two.
    pub caption: String,
    /// What the rows and columns stand for.
    pub axis: String,
    /// What the shades stand for: quantity and unit.
    pub value: String,
    /// The matrices.
    pub panels: Vec<Panel>,
}

/// One matrix; its shades go from its least to its greatest value.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The heading above the matrix.
    pub title: String,
    /// The values, top row first.
    pub rows: Vec<Vec<f64>>,
}

/// Rows of cells under a head.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The stem of its files: lower case, digits and `-`.
    pub name: String,
    /// The heading.
    pub title: String,
    /// What the table shows and what follows from it; a sentence or two.
    pub caption: String,
    /// The names of the columns, with units.
    pub head: Vec<String>,
    /// The cells; each row has as many as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Exhibit {
    /// The stem of the exhibit's files.
    pub fn name(&self) -> &str {
        match self {
            Exhibit::Figure(figure) => &figure.name,
            Exhibit::Maps(maps) => &maps.name,
            Exhibit::Table(table) => &table.name,
        }
    }

    /// The exhibit's heading.
    pub fn title(&self) -> &str {
        match self {
            Exhibit::Figure(figure) => &figure.title,
            Exhibit::Maps(maps) => &maps.title,
            Exhibit::Table(table) => &table.title,
        }
    }

    /// The exhibit's caption.
    pub fn caption(&self) -> &str {
        match self {
            Exhibit::Figure(figure) => &figure.caption,
            Exhibit::Maps(maps) => &maps.caption,
            Exhibit::Table(table) => &table.caption,
        }
    }
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: AxisScale::Linear, is_from_zero: false }
    }

    /// A linear axis of whole numbers, such as those of chunks.
    pub fn whole(label: impl Into<String>) -> Axis {
        Axis { scale: AxisScale::Whole, ..Axis::linear(label) }
    }

    /// A linear axis that begins at zero.
    pub fn from_zero(label: impl Into<String>) -> Axis {
        Axis { is_from_zero: true, ..Axis::linear(label) }
    }

    /// An axis of powers of ten.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: AxisScale::Log, is_from_zero: false }
    }

    /// An axis of powers of two.
    pub fn octaves(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: AxisScale::Octaves, is_from_zero: false }
    }
}

impl Series {
    /// A curve through unlabelled points.
    pub fn new(name: impl Into<String>, style: Style, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
        let points = points.into_iter().map(|(x, y)| CurvePoint { x, y, label: String::new() }).collect();
        Series { name: name.into(), style, colour: None, points }
    }

    /// The same curve in the colour of this number.
    pub fn coloured(self, number: usize) -> Series {
        Series { colour: Some(number), ..self }
    }
}
