// How many calls may be on their way at once. Near the server two are enough: one is worked on while the other is
// prepared, and what comes meanwhile shares the next call. Far from it the way itself takes the time, and a job that
// waited for another's reply would pay it twice.

// A server on the same machine or in the same rack answers well within this time.
const FAR_MS = 2;
const MOST_NEAR = 2;
// One on the same machine within this: it is worth staying awake for.
const AT_HAND_MS = 0.4;
const MOST_FAR = 16;
const FEW = 4;

// A slow answer may mean a long way or a busy server: only the quickest of the last ones tell the way.
const DRIFT = 0.005;

export class RoundTrip {
  #quickestMs = 0;

  /** A call that was sent behind others has waited for their work as well: it can only tell that the way is shorter. */
  note(ms: number, isAlone: boolean): void {
    if (this.#quickestMs === 0 || ms < this.#quickestMs) this.#quickestMs = ms;
    else if (isAlone) this.#quickestMs += (ms - this.#quickestMs) * DRIFT;
  }

  /** Also as long as nothing is known of it. */
  get isAtHand(): boolean {
    return this.#quickestMs < AT_HAND_MS;
  }

  get isFar(): boolean {
    return this.#quickestMs >= FAR_MS;
  }

  get mostInFlight(): number {
    return this.isFar ? MOST_FAR : MOST_NEAR;
  }

  /**
   * The same for so many small wishes. As long as nothing is known of the way a few do not wait for another's answer: it
   * may be long. Many make calls of a good size, and those set the pace of all that follow.
   */
  mostInFlightFor(count: number): number {
    return this.#quickestMs === 0 && count <= FEW ? MOST_FAR : this.mostInFlight;
  }
}
