import isEmailOfBmp from 'validator/lib/isEmail'

// Joiners are letters of some scripts. The library throws for half a character (Cs).
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/u

/** An address that mail could be sent to, by the shapes of RFC 5321 and 6531, at a domain; no name server is asked. */
export const isEmail = (text: string): boolean =>
  // The library knows no characters beyond U+FFFF: two others have as many bytes.
  !INVISIBLE.test(text) && isEmailOfBmp(text.replace(/[\u{10000}-\u{10FFFF}]/gu, '\u00e9\u00e9'))
