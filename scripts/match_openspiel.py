#!/usr/bin/env python3
"""Plays the engine against OpenSpiel's bots and prints the engine's score with a 95 % interval over pairs of games.

  scripts/match_openspiel.py --game connect_four --weights FILE --simulations 100 --bot mcts:1000 --games 200 --random-plies 2

Needs OpenSpiel (`pip install open_spiel==2.0.2`) in the Python that runs it, and the engine: `cargo build --bin actor`.

Bots: `random`; `mcts:N` and `ismcts:N`, OpenSpiel's C++ searches with N random rollouts a move (UCT constant 2). Games come in
pairs: the same random opening plies and the same chance outcomes, seats swapped. OpenSpiel leads; the engine is told every step,
and both must agree on whose turn it is and what is legal.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import subprocess
import sys

import pyspiel

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Engine:
    """The engine's process, one question at a time."""

    def __init__(self, options):
        command = [options.actor, "engine", "--game", options.game, "--weights", options.weights]
        command += ["--simulations", str(options.simulations), *options.engine]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the engine has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"the engine cannot follow {request}: {answer['error']}")
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def bot(text, game, seed):
    kind, _, budget = text.partition(":")
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    if kind == "random":
        return None
    if kind == "mcts":
        return pyspiel.MCTSBot(game, evaluator, 2.0, int(budget), 1000, False, seed, False)
    if kind == "ismcts":
        final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        return pyspiel.ISMCTSBot(seed, evaluator, 2.0, int(budget), -1, final, False, False)
    raise SystemExit(f"there is no bot {text!r}: random, mcts:N and ismcts:N are")


def play(options, game, engine, pair, swapped):
    """One game; what the engine gets."""
    seat = 1 if swapped else 0
    opening, dice = random.Random(f"opening {options.seed} {pair}"), random.Random(f"dice {options.seed} {pair}")
    moves = random.Random(f"moves {options.seed} {pair} {swapped}")
    other = bot(options.bot, game, moves.randrange(2**31))
    state = game.new_initial_state()
    position = engine.ask(do="new", game="g", seed=moves.randrange(2**53))
    plies = 0
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, odds = zip(*state.chance_outcomes())
            action = dice.choices(outcomes, odds)[0]
        else:
            if position["turn"] != state.current_player() or position["legal"] != state.legal_actions():
                raise SystemExit(f"engine and OpenSpiel differ: {position}, {state.legal_actions()}\n{state}")
            if plies < options.random_plies:
                action = opening.choice(state.legal_actions())
            elif state.current_player() == seat:
                action = engine.ask(do="decide", game="g", seat=seat)["action"]
            else:
                action = other.step(state) if other else moves.choice(state.legal_actions())
            plies += 1
        state.apply_action(action)
        position = engine.ask(do="apply", game="g", action=action)
    engine.ask(do="close", game="g")
    return state.returns()[seat]


def play_pairs(options, pairs):
    """Results of pairs, [(first game, second game)]."""
    game, engine = pyspiel.load_game(options.game), Engine(options)
    results = [tuple(play(options, game, engine, pair, swapped) for swapped in (False, True)) for pair in pairs]
    engine.end()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", required=True)
    parser.add_argument("--weights", default="none", help="the engine's weights, or none for random playouts [none]")
    parser.add_argument("--simulations", type=int, default=100, help="the engine's simulations a move [100]")
    parser.add_argument("--bot", default="mcts:1000", help="random, mcts:N or ismcts:N [mcts:1000]")
    parser.add_argument("--games", type=int, default=200, help="an even number [200]")
    parser.add_argument("--random-plies", type=int, default=0, help="opening moves drawn at random [0]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="games at a time [2]")
    parser.add_argument("--actor", default=str(ROOT / "target" / "debug" / "actor"), help="the actor's binary")
    parser.add_argument("engine", nargs="*", metavar="-- FLAGS", help="more flags of the engine, such as --choice label")
    options = parser.parse_args()
    pairs = range(options.games // 2)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        shares = [pairs[job :: options.jobs] for job in range(options.jobs)]
        results = [pair for share in pool.map(play_pairs, [options] * options.jobs, shares) for pair in share]
    utility = pyspiel.load_game(options.game)
    low, high = utility.min_utility(), utility.max_utility()
    score = [sum((result - low) / (high - low) for result in pair) / 2 for pair in results]
    mean = sum(score) / len(score)
    spread = math.sqrt(sum((x - mean) ** 2 for x in score) / max(len(score) - 1, 1) / len(score))
    games = [result for pair in results for result in pair]
    won, lost = sum(result > 0 for result in games), sum(result < 0 for result in games)
    print(
        f"{options.game}: {pathlib.Path(options.weights).name} at {options.simulations} simulations against {options.bot}: "
        f"score {mean:.3f} [{mean - 1.96 * spread:.3f}, {mean + 1.96 * spread:.3f}], "
        f"{won} won, {len(games) - won - lost} drawn, {lost} lost of {len(games)}, "
        f"mean return {sum(games) / len(games):+.3f}"
    )


if __name__ == "__main__":
    sys.exit(main())
