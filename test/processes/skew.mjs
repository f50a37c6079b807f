// For `node --import`: a machine whose wall clock is wrong by YOKE_SKEW_MS.

const skewMs = Number(process.env.YOKE_SKEW_MS ?? 0);
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now() + skewMs);
    else super(...args);
  }

  static now() {
    return RealDate.now() + skewMs;
  }
};
