/** The version of this library; the same as in package.json, which a test compares. */
export const version = '0.1.0';
