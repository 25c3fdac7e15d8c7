#!/usr/bin/env python3
"""Plays the engine against OpenSpiel's bots and prints the engine's score with a 95 % interval over pairs of games.

  scripts/match_openspiel.py --game connect_four --weights FILE --simulations 100 --bot mcts:1000 --games 200 --random-plies 2

Needs OpenSpiel (`pip install open_spiel==2.0.2`) in the Python that runs it, and the engine: `cargo build --bin actor`.

Bots: `random`; `mcts:N` and `ismcts:N`, OpenSpiel's C++ searches with N random rollouts a move, set as in OpenSpiel's own
examples (UCT constant 2, one rollout a leaf, MCTS with its solver). MCTS searches the true game: where something is hidden, it
cheats. IS-MCTS plays the games of hidden information that OpenSpiel can resample: kuhn_poker and leduc_poker.

Games come in pairs: the same random opening plies and the same chance outcomes, seats swapped. OpenSpiel leads; the engine is told
every step, and both must agree on whose turn it is, what is legal, the odds of chance and the returns. A game scores 1 won, 1/2
drawn, 0 lost, as in `actor match`.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import re
import subprocess
import sys

import pyspiel

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Engine:
    """The engine's process, one question at a time."""

    def __init__(self, options):
        command = [options.actor, "engine", "--game", options.game, "--weights", options.weights]
        command += ["--simulations", str(options.simulations), *options.engine]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

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


def bot(options, game, seed):
    """The bot; none moves at random."""
    kind, _, budget = options.bot.partition(":")
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    if kind == "mcts":
        return pyspiel.MCTSBot(game, evaluator, 2.0, int(budget), 1000, options.solve, seed, False)
    if kind == "ismcts":
        final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        return pyspiel.ISMCTSBot(seed, evaluator, 2.0, int(budget), -1, final, False, False)
    return None


def agree(state, position):
    """Ends the match unless the engine's position is OpenSpiel's state."""
    if state.is_terminal():
        theirs, ours = ("over", state.returns()), position.get("returns")
    elif state.is_chance_node():
        theirs, ours = ("chance", rounded(state.chance_outcomes())), rounded(position.get("outcomes", []))
    else:
        theirs, ours = (state.current_player(), state.legal_actions()), position.get("legal")
    if (position["turn"], ours) != theirs:
        raise SystemExit(f"engine and OpenSpiel differ: {position} and {theirs} in\n{state}")


def rounded(outcomes):
    """Chance outcomes; the engine gives their odds in single precision."""
    return [(action, round(odds, 5)) for action, odds in outcomes]


def play(options, game, engine, pair, swapped):
    """One game; what the engine gets."""
    seat = 1 if swapped else 0
    opening, dice = random.Random(f"opening {options.seed} {pair}"), random.Random(f"dice {options.seed} {pair}")
    moves = random.Random(f"moves {options.seed} {pair} {swapped}")
    other = bot(options, game, moves.randrange(2**31))
    state = game.new_initial_state()
    position = engine.ask(do="new", game="g", seed=moves.randrange(2**53))
    agree(state, position)
    plies = 0
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, odds = zip(*state.chance_outcomes())
            action = dice.choices(outcomes, odds)[0]
        else:
            if plies < options.random_plies:
                action = opening.choice(state.legal_actions())
            elif state.current_player() == seat:
                action = engine.ask(do="decide", game="g", seat=seat)["action"]
            else:
                action = other.step(state) if other else moves.choice(state.legal_actions())
            plies += 1
        state.apply_action(action)
        position = engine.ask(do="apply", game="g", action=action)
        agree(state, position)
    engine.ask(do="close", game="g")
    return state.returns()[seat]


def play_pairs(options, pairs):
    """Results of pairs, [(first game, second game)]."""
    game, engine = pyspiel.load_game(options.game), Engine(options)
    try:
        return [tuple(play(options, game, engine, pair, swapped) for swapped in (False, True)) for pair in pairs]
    except pyspiel.SpielError as error:
        raise SystemExit(f"OpenSpiel's {options.bot} cannot play {options.game}: {error}") from None
    finally:
        engine.end()


def normal(samples):
    """Mean of samples, and half of its 95 % interval by the normal approximation."""
    mean = sum(samples) / len(samples)
    variance = sum((sample - mean) ** 2 for sample in samples) / (len(samples) - 1)
    return mean, 1.96 * math.sqrt(variance / len(samples))


def score_of(pairs):
    """Mean score and its 95 % interval over pairs, by the rule of `actor match`: as if a score of 0 and one of 1 were added."""
    scores = [sum((0.5 if result == 0 else float(result > 0)) for result in pair) / 2 for pair in pairs]
    mean, (centre, half) = sum(scores) / len(scores), normal(scores + [0.0, 1.0])
    return mean, min(max(centre - half, 0.0), mean), max(min(centre + half, 1.0), mean)


def bot_name(text):
    if not re.fullmatch(r"random|(is)?mcts:[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f"there is no bot {text!r}: random, mcts:N and ismcts:N are")
    return text


def even(text):
    number = int(text)
    if number < 4 or number % 2:
        raise argparse.ArgumentTypeError("an even number from 4 on")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", required=True)
    parser.add_argument("--weights", default="none", help="the engine's weights, or none for random playouts [none]")
    parser.add_argument("--simulations", type=int, default=100, help="the engine's simulations a move [100]")
    parser.add_argument("--bot", type=bot_name, default="mcts:1000", help="random, mcts:N or ismcts:N [mcts:1000]")
    parser.add_argument("--no-solve", dest="solve", action="store_false", help="MCTS without its solver: weaker")
    parser.add_argument("--games", type=even, default=200, help="an even number from 4 on [200]")
    parser.add_argument("--random-plies", type=int, default=0, help="opening moves drawn at random [0]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="games at a time [2]")
    parser.add_argument("--actor", default=str(ROOT / "target" / "debug" / "actor"), help="the actor's binary")
    parser.add_argument("engine", nargs="*", metavar="-- FLAGS", help="more flags of the engine, such as --choice label")
    options = parser.parse_args()
    numbers = range(options.games // 2)
    jobs = min(options.jobs, len(numbers))
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        shares = [numbers[job::jobs] for job in range(jobs)]
        pairs = [pair for share in pool.map(play_pairs, [options] * jobs, shares) for pair in share]
    score, low, high = score_of(pairs)
    payoff, half = normal([sum(pair) / 2 for pair in pairs])
    games = [result for pair in pairs for result in pair]
    won, lost = sum(result > 0 for result in games), sum(result < 0 for result in games)
    hidden = pyspiel.load_game(options.game).get_type().information != pyspiel.GameType.Information.PERFECT_INFORMATION
    cheats = " (CHEATS: sees all)" if hidden and options.bot.startswith("mcts:") else ""
    print(
        f"{options.game}: {options.weights} at {options.simulations} simulations against OpenSpiel's {options.bot}{cheats}: "
        f"score {score:.3f} [{low:.3f}, {high:.3f}], {won} won, {len(games) - won - lost} drawn, {lost} lost of {len(games)}, "
        f"return {payoff:+.3f} [{payoff - half:+.3f}, {payoff + half:+.3f}]"
    )


if __name__ == "__main__":
    sys.exit(main())
