//! Tests of the files that are written for the page of an invented study.

use crate::{Axis, CurvePoint, Exhibit, Figure, NameError, Page, PageFile, Series, Style, Table, files};

/// A trade-off of eight policies, a survival function, an hourly profile and a table of twenty disks.
fn study() -> Page {
    let exhibits = vec![trade_off(), survival(), profile(), scatter(), disks()];
    let paragraphs = vec![
        "Eight idle policies were run over seven days of block traces from twenty disks. Each policy was given the \
         same latency budget; what differs is how much of the idle time it used for scrubbing."
            .to_owned(),
        "Times are virtual. A request is counted as delayed if a scrub read was in flight when it arrived.".to_owned(),
    ];
    Page { title: "When may a disk be scrubbed?".to_owned(), paragraphs, exhibits }
}

fn figure(name: &str, title: &str, caption: &str, axes: (Axis, Axis), series: Vec<Series>) -> Exhibit {
    let (name, title, caption) = (name.to_owned(), title.to_owned(), caption.to_owned());
    Exhibit::Figure(Figure { name, title, caption, x: axes.0, y: axes.1, series })
}

fn trade_off() -> Exhibit {
    let names =
        ["Waiting", "Fixed delay", "AR(1)", "AR(1) + Waiting", "Adaptive sizes", "Budget 1 ms", "Lossless", "Oracle"];
    let policy = |(n, name): (usize, &&str)| {
        let style = if n < 6 { Style::Line } else { Style::Dashed };
        let (good, bend) = (0.4 + 0.08 * n as f64, 0.45 + 0.09 * (n % 4) as f64);
        let points = (0..7).map(|k| {
            let rate = 0.0008 * 2.3f64.powi(k) / (1.0 + n as f64 * 0.35);
            let used = good * (rate / 0.12).powf(bend).min(1.0) + 0.03 * n as f64;
            CurvePoint { x: rate, y: used, label: format!("{} ms", 2048 >> k) }
        });
        Series { name: (*name).to_owned(), style, colour: None, points: points.collect() }
    };
    let series = names.iter().enumerate().map(policy).collect();
    let axes = (Axis::log("collisions per foreground request"), Axis::linear("share of the idle time used"));
    figure(
        "trade-off",
        "What idle time costs",
        "Each curve is one policy; the numbers are its threshold.",
        axes,
        series,
    )
}

fn survival() -> Exhibit {
    let tail = |scale: f64, shape: f64| {
        (0..8_000).map(move |n| {
            let x = 1e-4 * 1.002f64.powi(n);
            (x, (1.0 + x / scale).powf(-shape))
        })
    };
    let mut measured = Series::new("src1_1 <measured> & more", Style::Line, tail(0.02, 1.1));
    measured.points.push(CurvePoint { x: 800.0, y: 0.0, label: String::new() });
    let fitted = Series::new("Pareto, fitted", Style::Dashed, tail(0.03, 1.2));
    let axes = (Axis::log("idle interval x (s)"), Axis::log("P(interval > x)"));
    figure(
        "survival",
        "Idle intervals have long tails",
        "The last measured point is zero.",
        axes,
        vec![measured, fitted],
    )
}

fn profile() -> Exhibit {
    let hours = |peak: f64| {
        (0..24).map(move |hour| (f64::from(hour), 900.0 + peak * (-(f64::from(hour) - 14.0).powi(2) / 30.0).exp()))
    };
    let series = vec![
        Series::new("weekdays", Style::Bars, hours(42_000.0)),
        Series::new("weekends", Style::Bars, hours(9_000.0)),
    ];
    let axes = (Axis::linear("hour of the day"), Axis::linear("requests per hour"));
    figure("profile", "The day of a file server", "Nights are quiet.", axes, series)
}

fn scatter() -> Exhibit {
    let cloud = (0..5_000).map(|n| {
        let (a, b) = (f64::from(n * 7919 % 5003) / 5003.0, f64::from(n * 104_729 % 4999) / 4999.0);
        (1e-6 * 10f64.powf(6.0 * a), 0.2 + 8.0 * a * b)
    });
    let axes = (Axis::log("idle interval before (s)"), Axis::linear("response time (ms)"));
    let mean = Series::new("mean", Style::Line, (0..7).map(|n| (10f64.powi(n - 6), 0.3 + 0.6 * f64::from(n))));
    figure(
        "cloud",
        "Requests after a rest",
        "One dot is one request.",
        axes,
        vec![Series::new("requests", Style::Points, cloud), mean],
    )
}

fn disks() -> Exhibit {
    let head =
        ["disk", "requests", "idle (%)", "median interval (ms)", "p99 interval (s)", "slowdown (ms)", "policy chosen"];
    let row = |n: u32| {
        let name = if n == 3 { "<script>alert(1)</script>".to_owned() } else { format!("src{}_{}", n / 3, n % 3) };
        let numbers =
            [f64::from(n * n + 3) * 10_211.0, 99.0 - f64::from(n) * 2.3, 1.5 + f64::from(n), f64::from(n) * 0.77];
        let [requests, idle, median, tail] = numbers;
        let budget = if n.is_multiple_of(4) { "-".to_owned() } else { format!("{:.2}", tail / 20.0) };
        vec![
            name,
            format!("{requests:.0}"),
            format!("{idle:.1}"),
            format!("{median:.1}"),
            format!("{tail:.2}"),
            budget,
            "Waiting, \"64 ms\"".to_owned(),
        ]
    };
    let (name, title, caption) = ("disks".to_owned(), "The disks".to_owned(), "Sorted by name.".to_owned());
    Exhibit::Table(Table {
        name,
        title,
        caption,
        head: head.map(str::to_owned).to_vec(),
        rows: (0..20).map(row).collect(),
    })
}

fn facts() -> Vec<(&'static str, String)> {
    let command = "scrubjay study idle --trace 'a b.csv' <x>".to_owned();
    vec![("program", "scrubjay 0.1.0".to_owned()), ("command", command), ("date", "2026-11-21".to_owned())]
}

/// The text of one of the files.
fn text<'a>(files: &'a [PageFile], name: &str) -> &'a str {
    &files.iter().find(|file| file.name == name).unwrap().text
}

#[test]
fn the_page_comes_first_and_then_the_files_of_each_exhibit() {
    let files = files(&study(), &facts()).unwrap();
    let names = [
        "index.html",
        "trade-off.svg",
        "trade-off.csv",
        "survival.svg",
        "survival.csv",
        "profile.svg",
        "profile.csv",
        "cloud.svg",
        "cloud.csv",
        "disks.csv",
    ];
    assert!(files.iter().map(|file| file.name.as_str()).eq(names));
    assert_eq!(text(&files, "survival.csv").lines().count(), 1 + 16_001, "the CSV has all points");
    assert!(text(&files, "survival.svg").len() < 60_000, "the figure has those that can be seen");
    assert!(
        text(&files, "disks.csv")
            .contains("<script>alert(1)</script>,122532,92.1,4.5,2.31,0.12,\"Waiting, \"\"64 ms\"\"\"\n")
    );
}

#[test]
fn the_page_has_no_scripts_and_links_only_to_its_files() {
    let files = files(&study(), &facts()).unwrap();
    let page = text(&files, "index.html");
    for forbidden in ["://", "<script", "src=", "url(", "@import", "<link", "<iframe", "onload", "javascript:"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for (at, _) in page.match_indices("href=\"") {
        let link = page[at + 6..].split('"').next().unwrap();
        assert!(link.starts_with('#') || files.iter().any(|file| file.name == link), "{link}");
    }
    let figure = text(&files, "survival.svg");
    assert_eq!(figure.matches("://").count(), 1, "the name space only");
    assert!(!figure.contains("href") && !figure.contains("url("));
}

#[test]
fn names_from_files_are_escaped() {
    let files = files(&study(), &facts()).unwrap();
    let page = text(&files, "index.html");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("--trace &#39;a b.csv&#39; &lt;x&gt;"));
    assert!(text(&files, "survival.svg").contains("src1_1 &lt;measured&gt; &amp; more"));
}

#[test]
fn points_that_a_logarithmic_axis_cannot_show_are_counted() {
    let files = files(&study(), &facts()).unwrap();
    assert!(text(&files, "index.html").contains("1 point cannot be shown"));
    let figure = text(&files, "survival.svg");
    assert!(!figure.contains("NaN") && !figure.contains("inf"));
    assert!(text(&files, "survival.csv").contains(",800,0,\n"));
}

#[test]
fn figures_of_empty_or_extreme_data_are_drawn_without_nan() {
    for (style, scale) in
        [(Style::Line, Axis::linear("")), (Style::Points, Axis::log("")), (Style::Bars, Axis::log(""))]
    {
        for points in [
            vec![],
            vec![(f64::NAN, 1.0), (0.0, f64::INFINITY)],
            vec![(1.0, 1.0)],
            vec![(1e-300, 1e300)],
            vec![(f64::MIN, f64::MAX)],
        ] {
            let series = vec![Series::new("", style, points)];
            let exhibits = vec![figure("x", "", "", (scale.clone(), scale.clone()), series)];
            let files = files(&Page { exhibits, ..Page::default() }, &[]).unwrap();
            let figure = text(&files, "x.svg");
            assert!(!figure.contains("NaN") && !figure.contains("inf"), "{figure}");
        }
    }
}

#[test]
fn names_cannot_leave_the_folder_nor_clash() {
    let named = |name: &str| figure(name, "", "", (Axis::linear(""), Axis::linear("")), vec![]);
    let refused = |names: &[&str]| {
        let exhibits = names.iter().map(|name| named(name)).collect();
        files(&Page { exhibits, ..Page::default() }, &[]).unwrap_err()
    };
    for name in ["../x", "", "A"] {
        assert_eq!(refused(&[name]), NameError::Characters(name.to_owned()));
    }
    assert_eq!(refused(&["x", "x"]), NameError::Repeated("x".to_owned()));
}

#[test]
fn lines_that_coincide_are_named() {
    let line =
        |name, bend: f64| Series::new(name, Style::Line, (0..9).map(|x| (f64::from(x), f64::from(x).powf(bend))));
    let parts = Series::new("part of it", Style::Dashed, [(2.0, 2.0), (4.0, 4.0)]);
    let dots = Series::new("dots", Style::Points, [(2.0, 2.0), (4.0, 4.0)]);
    let series = vec![line("straight", 1.0), line("bent", 1.2), line("the <same>", 1.0), parts, dots];
    let exhibits = vec![figure("x", "", "", (Axis::linear("x"), Axis::linear("y")), series)];
    let files = files(&Page { exhibits, ..Page::default() }, &[]).unwrap();
    let page = text(&files, "index.html");
    assert!(page.contains("straight and the &lt;same&gt; coincide."), "{page}");
    assert_eq!(page.matches("coincide").count(), 1, "neither the bent one, nor what covers a part");
}

#[test]
fn curves_that_belong_together_share_a_colour() {
    let line = |name: &str, style, rise: f64| Series::new(name, style, [(0.0, 0.0), (1.0, rise)]);
    let series = vec![
        line("a, first", Style::Dashed, 1.0).coloured(0),
        line("a, later", Style::Line, 2.0).coloured(0),
        line("b", Style::Line, 3.0).coloured(1),
    ];
    let exhibits = vec![figure("pairs", "Pairs", "", (Axis::linear("x"), Axis::linear("y")), series)];
    let page = Page { title: "Pairs".to_owned(), exhibits, ..Page::default() };
    let files = files(&page, &[]).expect("names of files");
    let svg = &files[1].text;
    let count = |class: &str| svg.matches(&format!("<g class=\"{class}\">")).count();
    assert_eq!([count("c0"), count("c1"), count("c2")], [4, 2, 0], "each in the legend and in the plot: {svg}");
}
