// What a header may carry (RFC 9110, 5.5): visible characters and spaces between.
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

export const isHeaderValue = (text: string): boolean => HEADER_VALUE.test(text)
