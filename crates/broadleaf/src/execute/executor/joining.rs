//! A segment that is combined at this node is sent on after every input has brought its part.
//!
//! An output sends its segments in one order. It may send up to the first one that some input has not delivered: in a
//! reduction, the segments are the same for all inputs; in a gather, each input has those of its own blocks.

use super::NodeExecutor;

impl NodeExecutor {
    /// Enables sends before any input: those of the node's own blocks with which the order begins.
    pub(super) fn begin_joining(&mut self) {
        for output in 0..self.joined.len() as u32 {
            if !self.joined[output as usize].is_empty() {
                self.look_at_inputs(output);
                self.enqueue(output);
            }
        }
    }

    /// One more segment came in on `input`, one of those that `output` joins.
    pub(super) fn join(&mut self, input: usize, output: u32) {
        let before = self.first_missing(input, output, self.received[input] - 1);
        let after = self.first_missing(input, output, self.received[input]);
        let channel = &mut self.outgoing[output as usize];
        // Only an input that blocks the output can release it, and the last such input does, so each segment is
        // examined once, for any number of inputs.
        if before == channel.available && after != before {
            channel.waits_for -= 1;
            if channel.waits_for == 0 {
                self.look_at_inputs(output);
            }
        }
    }

    fn look_at_inputs(&mut self, output: u32) {
        let (mut least, mut waits_for) = (self.outgoing[output as usize].carried, 0);
        for &input in &self.joined[output as usize] {
            let missing = self.first_missing(input as usize, output, self.received[input as usize]);
            if missing < least {
                (least, waits_for) = (missing, 1);
            } else if missing == least {
                waits_for += 1;
            }
        }
        let channel = &mut self.outgoing[output as usize];
        (channel.available, channel.waits_for) = (least, waits_for);
    }

    /// The first of an output's segments that `input` has not delivered after `received` segments, by its index among
    /// the output's.
    fn first_missing(&self, input: usize, output: u32, received: u64) -> u64 {
        let blocks = (self.program.input_blocks.get(input), self.program.output_blocks.get(output as usize));
        let (Some(of_input), Some(of_output)) = blocks else { return received };
        let each = of_input.len() as u64;
        if each == 0 {
            // Only empty blocks: no wait.
            return u64::MAX;
        }
        let whole = received / each * of_output.len() as u64;
        if self.combine {
            // The blocks of a segment leave together, as a scatter's arrive together.
            return whole;
        }
        let block = of_input[(received % each) as usize];
        whole + of_output.binary_search(&block).expect("a block of the subtree") as u64
    }
}
