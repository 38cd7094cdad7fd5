//! Places labels beside points so that they cover little and do not overlap.

/// A rectangle on the sheet, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The left edge.
    pub x: f64,
    /// The upper edge.
    pub y: f64,
    /// The width, in pixels.
    pub width: f64,
    /// The height, in pixels.
    pub height: f64,
}

/// The obstacles on the sheet, and the labels placed so far.
#[derive(Debug)]
pub struct LabelledSheet {
    room: Area,
    columns: usize,
    cells: Vec<u8>,
    taken: Vec<Area>,
}

/// The side of a cell of the sheet, in pixels: a third of a letter.
const CELL: f64 = 4.0;

/// Space kept free at both ends of a label, in pixels.
const GAP: f64 = 4.0;

/// The weight of a mark in a cell; a line has weight 1.
const MARK_WEIGHT: u8 = 4;

/// The distances at which a label may stand from its point, in pixels, with their cost in cells of line covered. At the
/// second distance a thin line ties the label to its point.
const RINGS: [(f64, f64); 2] = [(6.0, 0.0), (17.0, 3.0)];

/// A label that costs more than this, in cells of line covered, is left out.
const COST_MAX: f64 = 9.0;

/// The directions from a point in which a label may stand, best first: right, left, above, below, then the diagonals.
const SIDES: [(f64, f64); 8] =
    [(1.0, 0.0), (-1.0, 0.0), (0.0, -1.0), (0.0, 1.0), (0.8, -0.8), (-0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)];

impl LabelledSheet {
    /// An empty sheet; labels stay inside `room`.
    pub fn new(room: Area) -> LabelledSheet {
        let columns = (room.width / CELL).ceil() as usize + 1;
        let rows = (room.height / CELL).ceil() as usize + 1;
        LabelledSheet { room, columns, cells: vec![0; columns * rows], taken: Vec::new() }
    }

    /// Adds a straight line as an obstacle.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let steps = ((to.0 - from.0).hypot(to.1 - from.1) / CELL).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            self.put(from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share, 1);
        }
    }

    /// Adds a mark of a few pixels as an obstacle.
    pub fn mark(&mut self, at: (f64, f64)) {
        self.put(at.0, at.1, MARK_WEIGHT);
    }

    /// Adds a filled rectangle, which no label may cover.
    pub fn fill(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// Reserves an area for a label of this size beside the point; `None` if there is no room.
    pub fn place(&mut self, at: (f64, f64), width: f64, height: f64) -> Option<Area> {
        let mut best: Option<(f64, Area)> = None;
        for (distance, price) in RINGS {
            for (right, down) in SIDES {
                let area = label_area(at, (right * distance, down * distance), width, height);
                let cost = price + self.weight(area);
                let free = self.room.holds(area) && !self.taken.iter().any(|other| other.meets(area));
                if free && cost <= COST_MAX && best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, area));
                }
            }
        }
        let (_, area) = best?;
        // Two labels in a row need a gap to be read as two.
        self.taken.push(Area { x: area.x - GAP, width: area.width + 2.0 * GAP, ..area });
        Some(area)
    }

    fn put(&mut self, x: f64, y: f64, weight: u8) {
        if let Some(index) = self.index(x, y) {
            self.cells[index] = self.cells[index].max(weight);
        }
    }

    fn index(&self, x: f64, y: f64) -> Option<usize> {
        let (column, row) = (((x - self.room.x) / CELL).floor(), ((y - self.room.y) / CELL).floor());
        let inside = column >= 0.0 && row >= 0.0 && column < self.columns as f64;
        let index = inside.then(|| row as usize * self.columns + column as usize)?;
        (index < self.cells.len()).then_some(index)
    }

    /// The weight of what a label would cover.
    fn weight(&self, area: Area) -> f64 {
        let (across, down) = ((area.width / CELL).ceil() as usize, (area.height / CELL).ceil() as usize);
        let mut weight = 0.0;
        for row in 0..=down {
            for column in 0..=across {
                let (x, y) =
                    (area.x + area.width.min(column as f64 * CELL), area.y + area.height.min(row as f64 * CELL));
                weight += self.index(x, y).map_or(0.0, |index| f64::from(self.cells[index]));
            }
        }
        weight
    }
}

impl Area {
    /// Whether `other` lies inside.
    fn holds(self, other: Area) -> bool {
        other.x >= self.x
            && other.y >= self.y
            && other.x + other.width <= self.x + self.width
            && other.y + other.height <= self.y + self.height
    }

    /// Whether the two overlap.
    fn meets(self, other: Area) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// The rectangle of this size beside `at`, in the direction and at the distance `by`.
fn label_area(at: (f64, f64), by: (f64, f64), width: f64, height: f64) -> Area {
    let edge = |at: f64, by: f64, length: f64| match by {
        by if by > 0.0 => at + by,
        by if by < 0.0 => at + by - length,
        _ => at - length / 2.0,
    };
    Area { x: edge(at.0, by.0, width), y: edge(at.1, by.1, height), width, height }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Area = Area { x: 0.0, y: 0.0, width: 200.0, height: 100.0 };

    #[test]
    fn labels_never_cover_each_other_nor_leave_the_room() {
        let mut label_sheet = LabelledSheet::new(ROOM);
        let placed: Vec<Area> =
            (0..60).filter_map(|n| label_sheet.place((f64::from(n) * 3.4, 50.0), 30.0, 12.0)).collect();
        assert!(placed.len() >= 10, "{}", placed.len());
        for (n, label) in placed.iter().enumerate() {
            assert!(ROOM.holds(*label));
            assert!(!placed[..n].iter().any(|other| other.meets(*label)));
        }
    }

    #[test]
    fn a_label_avoids_a_line() {
        let mut label_sheet = LabelledSheet::new(ROOM);
        label_sheet.line((0.0, 50.0), (200.0, 50.0));
        let label = label_sheet.place((100.0, 50.0), 30.0, 12.0).unwrap();
        assert!(label.y + label.height <= 50.0, "above the line: {label:?}");
    }

    #[test]
    fn a_label_without_room_is_left_out() {
        let mut label_sheet = LabelledSheet::new(ROOM);
        label_sheet.fill(ROOM);
        assert_eq!(label_sheet.place((100.0, 50.0), 30.0, 12.0), None);
    }
}
