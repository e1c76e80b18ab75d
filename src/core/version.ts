// The version of this Berth; a test holds it equal to package.json, so that `--version` reads no file.

export const version = '0.1.0'
