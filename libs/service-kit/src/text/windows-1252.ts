// The characters of the bytes 0x80 to 0x9f, for which Latin-1 has control characters (WHATWG Encoding).
const FROM_0X80 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/**
 * Decodes Windows-1252, in which each byte is a character. Does not use Node's own decoder, because it treats
 * Windows-1252 as Latin-1 (Node 20.20).
 */
export const decodeWindows1252 = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[\x80-\x9f]/g, (control) => FROM_0X80[control.charCodeAt(0) - 0x80]!)
