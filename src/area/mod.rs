//! Area flow: PDK discovery, Liberty handling, synthesis, timing and the figures made from them.
//!
//! | module | what it does |
//! |---|---|
//! | [`pdk`] | the PDKs known, and where their files are |
//! | [`liberty`], [`function`] | reading and writing Liberty |
//! | [`table`] | our own small cell tables, to and from Liberty |
//! | [`tools`] | finding Yosys and OpenROAD |
//! | [`synth`] | running Yosys |
//! | [`netlist`], [`sta`] | areas and timing of what it made |
//! | [`report`] | the figures |
//! | [`pnr`] | place and route with OpenROAD |

pub mod function;
pub mod liberty;
pub mod netlist;
pub mod pdk;
pub mod pnr;
pub mod report;
pub mod sta;
pub mod synth;
pub mod table;
pub mod tools;
