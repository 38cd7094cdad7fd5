//! The look of figures: one style sheet for figures in files of their own and in pages, in light, dark and print.

/// The number of series colours; a later series reuses them.
///
/// Okabe and Ito, "Color Universal Design" (2008), chosen to be told apart with any common colour blindness: their
/// blue, vermilion, bluish green, reddish purple, orange, sky blue and black. Grey replaces their yellow, which is
/// invisible on white. Text in the colour of a series (`.t`) is darker, because thin strokes need the contrast.
pub const COLOURS: usize = 8;

/// The rules for everything in a `.plot`. They use no variables, which converters from SVG to other formats do not
/// support.
pub const FIGURE: &str = "\
.plot{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-size:12.5px;\
color:#1c2024;font-variant-numeric:tabular-nums}
.plot text{fill:currentColor;stroke:none}
.plot .paper{fill:#fff}
.plot .title{font-size:15px;font-weight:600}
.plot .soft{color:#59626b}
.plot .raised{font-size:9px}
.plot .grid{fill:none;stroke:#e3e6e9;stroke-width:1}
.plot .axis{fill:none;stroke:#767f88;stroke-width:1}
.plot .line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.plot .dash{stroke-dasharray:5.5 4;stroke-linecap:butt}
.plot .dots{fill:none;stroke:currentColor;stroke-width:3.2;stroke-linecap:round;stroke-opacity:.6}
.plot .mark{fill:currentColor;stroke:#fff;stroke-width:.8}
.plot .open{fill:#fff;stroke:currentColor;stroke-width:1.6}
.plot .bar{fill:currentColor;fill-opacity:.85}
.plot .band{fill:currentColor;fill-opacity:.3}
.plot .tie{fill:none;stroke:currentColor;stroke-width:.7}
.plot .note{font-size:11px;stroke:#fff;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
.plot .c0{color:#0072b2}.plot .c1{color:#d55e00}.plot .c2{color:#009e73}.plot .c3{color:#cc79a7}
.plot .c4{color:#e69f00}.plot .c5{color:#56b4e9}.plot .c6{color:#1c2024}.plot .c7{color:#8a8f94}
.plot .t0{color:#00588a}.plot .t1{color:#a84a00}.plot .t2{color:#00694d}.plot .t3{color:#9c4577}
.plot .t4{color:#7d5600}.plot .t5{color:#1f6f9f}.plot .t6{color:#1c2024}.plot .t7{color:#5f656a}
@media screen and (prefers-color-scheme:dark){
.plot{color:#e4e7ea}.plot .paper{fill:#15181b}.plot .soft{color:#a3abb3}
.plot .grid{stroke:#2b3035}.plot .axis{stroke:#7b848c}
.plot .mark,.plot .note{stroke:#15181b}.plot .open{fill:#15181b;stroke:currentColor}
.plot .c0{color:#3d9bd6}.plot .c1{color:#f07a26}.plot .c2{color:#1fb88c}.plot .c3{color:#dd8fba}
.plot .c5{color:#8fd0f5}.plot .c6{color:#e4e7ea}.plot .c7{color:#888e94}
.plot .t0{color:#6cb5e3}.plot .t1{color:#f59a58}.plot .t2{color:#4fcda6}.plot .t3{color:#e8accb}
.plot .t4{color:#efb739}.plot .t5{color:#a5daf8}.plot .t6{color:#e4e7ea}.plot .t7{color:#a9afb5}
}
";
