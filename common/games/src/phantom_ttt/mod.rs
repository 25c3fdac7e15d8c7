//! Phantom tic-tac-toe with OpenSpiel's numbering: tic-tac-toe in which nobody sees the other's marks. Action `a` tries the
//! cell in row `a / 3`, column `a % 3`: if it is free it is marked and the other seat moves, else the seat has found a mark
//! and tries again. Seat 0 moves first.
//!
//! OpenSpiel's default variant: a seat sees its own tries alone, not how often the other has tried. It knows how many marks
//! the other has, for it moves when the other has marked a cell.

mod board;
mod worlds;
#[cfg(test)]
mod worlds_tests;

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Planes, Rng, Seat, Turn, mix};

pub use board::{PhantomBoard, PhantomView};

use crate::{bits, square};
use board::{CELLS, has_line};

/// Turns of a seat: it marks a cell in each.
const TURNS: usize = 5;

/// Planes of an observation.
const PLANES: usize = 2 * TURNS + 1;

/// The game.
#[derive(Debug)]
pub struct PhantomTtt {
    info: GameInfo,
}

impl PhantomTtt {
    /// The name it is registered under.
    pub const NAME: &'static str = "phantom_ttt";

    /// The game.
    pub fn new() -> Self {
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([
                ("mine_by_turn", TURNS * CELLS),
                ("found_by_turn", TURNS * CELLS),
                ("second", CELLS),
            ]),
            planes: Some(Planes { channels: PLANES, height: 3, width: 3 }),
            actions: (0..CELLS).map(|cell| format!("r{}c{}", cell / 3, cell % 3)).collect(),
            hidden: Layout::new([("foe_marks", CELLS)]),
            max_decisions: 2 * CELLS - 1, // nine marks; all but the last can be found
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: false,
            // Nobody sees what the other does: no move betrays anything that the other could act on.
            mixed_play: false,
            has_chance: false,
            symmetries: square::ALL.skip(1).map(|symmetry| square::symmetry(symmetry, 3, PLANES, CELLS)).collect(),
        };
        Self { info }
    }
}

impl Default for PhantomTtt {
    fn default() -> Self {
        Self::new()
    }
}

/// A row of a board: marks of seat 0 are x, those of seat 1 o.
fn row(marks: [u16; 2], row: usize) -> String {
    let cell = |cell: usize| match marks.map(|marks| marks >> cell & 1) {
        [1, _] => 'x',
        [_, 1] => 'o',
        _ => '.',
    };
    (3 * row..3 * row + 3).map(cell).collect()
}

impl Game for PhantomTtt {
    type State = PhantomBoard;
    type View = PhantomView;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _setup: &mut Rng) -> PhantomBoard {
        PhantomBoard::default()
    }

    #[inline]
    fn turn(&self, board: &PhantomBoard) -> Turn {
        if board.over { Turn::Over } else { Turn::Player(board.mover()) }
    }

    #[inline]
    fn legal(&self, board: &PhantomBoard, out: &mut Actions) {
        out.clear();
        let unknown = board.unknown(board.mover());
        out.extend((0..CELLS as Action).filter(|cell| unknown >> cell & 1 == 1));
    }

    fn chance(&self, _board: &PhantomBoard, out: &mut Vec<(Action, f32)>) {
        out.clear();
    }

    fn sample(&self, _board: &PhantomBoard, _rng: &mut Rng) -> Action {
        unreachable!("phantom tic-tac-toe has no chance")
    }

    #[inline]
    fn apply(&self, board: &mut PhantomBoard, action: Action) {
        board.attempt(action);
    }

    #[inline]
    fn advance(&self, board: &mut PhantomBoard, action: Action, _rng: &mut Rng) {
        board.attempt(action);
    }

    #[inline]
    fn play_out(&self, board: &mut PhantomBoard, _scratch: &mut Actions, rng: &mut Rng) -> f32 {
        while !board.over {
            board.attempt(bits::draw(board.unknown(board.mover()).into(), rng) as Action);
        }
        self.payoff(board)
    }

    fn payoff(&self, board: &PhantomBoard) -> f32 {
        match board.marks.map(has_line) {
            [true, _] => 1.0,
            [_, true] => -1.0,
            _ => 0.0,
        }
    }

    fn view(&self, board: &PhantomBoard, seat: Seat) -> PhantomView {
        board.seen(seat)
    }

    #[inline]
    fn tree_key(&self, board: &PhantomBoard, seat: Seat) -> u64 {
        let [own, foe] = [usize::from(seat), usize::from(1 - seat)];
        let public = u64::from(board.placed) << 2 | u64::from(has_line(board.marks[foe])) << 1 | u64::from(seat);
        mix(mix(board.tries[own].bits(), board.marks[own].into()), public)
    }

    /// When a mark was found says when it was made; the order of tries within a turn says nothing.
    fn observe(&self, board: &PhantomBoard, seat: Seat, out: &mut [f32]) {
        let own = usize::from(seat);
        out.fill(0.0);
        let mut turn = 0;
        for cell in board.tries[own].since(0) {
            let marked = board.marks[own] >> cell & 1 == 1;
            let plane = if marked { turn } else { TURNS + turn };
            out[plane * CELLS + usize::from(cell)] = 1.0;
            turn += usize::from(marked);
        }
        out[2 * TURNS * CELLS..].fill(f32::from(seat));
    }

    fn hidden(&self, board: &PhantomBoard, seat: Seat, out: &mut [f32]) {
        let marks = board.marks[usize::from(1 - seat)] & !board.found[usize::from(seat)];
        out.iter_mut().enumerate().for_each(|(cell, number)| *number = f32::from((marks >> cell & 1) as u8));
    }

    fn determinize(&self, view: &PhantomView, rng: &mut Rng) -> PhantomBoard {
        let (world, _) =
            worlds::go_on(&PhantomBoard::default(), view, rng).expect("a view has at least the true world");
        world
    }

    /// Worlds are drawn as if the other seat had tried unknown cells at random; the odds returned take that back.
    fn past(
        &self,
        view: &PhantomView,
        world: &PhantomBoard,
        seat: Seat,
        visit: &mut dyn FnMut(&PhantomBoard, Action),
    ) -> Option<f64> {
        Some(PhantomBoard::default().replay(world, 1 - view.seat, seat, visit))
    }

    /// A world ends where the viewer finds a mark that it does not have, or marks a cell in which it has one.
    fn carry(
        &self,
        view: &PhantomView,
        world: &PhantomBoard,
        seat: Seat,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&PhantomBoard, Action),
    ) -> Option<(PhantomBoard, f64)> {
        if world.over || world.mover() != view.seat {
            return None; // the viewer was not asked then: the other may have been in the midst of trying
        }
        let (now, ways) = worlds::go_on(world, view, rng)?;
        Some((now, ways * world.replay(&now, 1 - view.seat, seat, visit)))
    }

    fn describe(&self, board: &PhantomBoard) -> String {
        let seen = [[board.marks[0], board.found[0]], [board.found[1], board.marks[1]]];
        let rows = (0..3).map(|at| format!("{} {} {}", row(board.marks, at), row(seen[0], at), row(seen[1], at)));
        let [first, second] = board.tries.map(|tries| tries.since(0).map(|cell| cell.to_string()).collect::<String>());
        format!("{}\ntried {first} / {second}", rows.collect::<Vec<_>>().join("\n"))
    }

    fn describe_view(&self, view: &PhantomView, seat: Seat) -> String {
        let marks = if seat == 0 { [view.mine, view.found] } else { [view.found, view.mine] };
        let rows: Vec<_> = (0..3).map(|at| row(marks, at)).collect();
        let tried: String = view.tries.since(0).map(|cell| cell.to_string()).collect();
        format!("{}\ntried {tried}, marks of both {}", rows.join("\n"), view.placed)
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;

    use super::*;

    fn after(cells: &[Action]) -> PhantomBoard {
        let game = PhantomTtt::new();
        let mut board = game.start(&mut stream(0, &[]));
        cells.iter().for_each(|&cell| game.apply(&mut board, cell));
        board
    }

    #[test]
    fn a_seat_that_finds_a_mark_tries_again_and_the_other_does_not_notice() {
        let game = PhantomTtt::new();
        let (before, board) = (after(&[4]), after(&[4, 4]));
        assert_eq!(game.turn(&board), Turn::Player(1));
        assert_eq!(game.view(&board, 0), game.view(&before, 0));
        assert_ne!(game.view(&board, 1), game.view(&before, 1));
        let mut legal = Vec::new();
        game.legal(&board, &mut legal);
        assert_eq!(legal, [0, 1, 2, 3, 5, 6, 7, 8]);
        assert_eq!(game.describe(&board), "... ... ...\n.x. .x. .x.\n... ... ...\ntried 4 / 4");
    }

    #[test]
    fn a_line_of_marks_wins_and_found_marks_do_not_count() {
        let game = PhantomTtt::new();
        let board = after(&[4, 4, 3, 0, 5]); // o has marked 3 and 5, and found 4
        assert_eq!(game.turn(&board), Turn::Player(0));
        let board = after(&[0, 4, 1, 3, 2]);
        assert_eq!((game.turn(&board), game.payoff(&board)), (Turn::Over, 1.0));
        let board = after(&[0, 4, 1, 3, 8, 5]);
        assert_eq!((game.turn(&board), game.payoff(&board)), (Turn::Over, -1.0));
    }

    #[test]
    fn a_full_board_without_a_line_is_a_draw() {
        let game = PhantomTtt::new();
        let board = after(&[0, 1, 2, 4, 3, 5, 7, 6, 8]); // xox / xoo / oxx
        assert_eq!((game.turn(&board), game.payoff(&board)), (Turn::Over, 0.0));
    }

    #[test]
    fn a_seat_sees_in_which_turn_it_marked_and_found() {
        let game = PhantomTtt::new();
        let mut seen = [f32::NAN; PLANES * CELLS];
        // o finds 4 and marks 0; x marks 1; o finds 1 and then marks 2; x finds 2 and tries on.
        let board = after(&[4, 4, 0, 1, 1, 2, 2]);
        let places = |seen: &[f32]| (0..seen.len()).filter(|&place| seen[place] == 1.0).collect::<Vec<_>>();
        game.observe(&board, 1, &mut seen);
        let second: Vec<usize> = (90..99).collect();
        assert_eq!(places(&seen), [&[0, 9 + 2, 45 + 4, 54 + 1][..], &second].concat());
        game.observe(&board, 0, &mut seen);
        assert_eq!(places(&seen), [4, 9 + 1, 63 + 2]); // 2 was found in its third turn
        let mut hidden = [f32::NAN; CELLS];
        game.hidden(&board, 0, &mut hidden);
        assert_eq!(places(&hidden), [0]); // 2 is found
    }

    #[test]
    fn past_shows_tries_that_failed_too() {
        let game = PhantomTtt::new();
        let board = after(&[4, 4, 0, 1]);
        let mut shown = Vec::new();
        let odds = game.past(&game.view(&board, 0), &board, 1, &mut |then, cell| shown.push((*then, cell)));
        assert_eq!(shown, [(after(&[4]), 4), (after(&[4, 4]), 0)]);
        assert_eq!(odds, Some(9.0 * 8.0 * 7.0)); // nine cells, eight, and now seven to choose from
    }
}
