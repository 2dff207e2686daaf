const BREAK = /[\t-\r\x85\u2028\u2029]+/g
const CONTROL = /(?!\0)[\p{Cc}\p{Bidi_Control}]/gu
const UNFIT = /(?!\0)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u
const VISIBLE = /\0|[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * A text as a field of one line keeps it, such as a name or a telephone number: what breaks lines is a space, other control
 * characters and those that turn text around are taken out. A NUL stays: it is refused wherever it is.
 */
export const oneLine = (text: string): string =>
  UNFIT.test(text) ? text.replace(BREAK, ' ').replace(CONTROL, '').trim() : text

/** Whether a text is such a line already, and has no NUL. */
export const isOneLine = (text: string): boolean => !text.includes('\0') && oneLine(text) === text

/** A text of many lines without control characters. Its line breaks and tabs stay. */
export const manyLines = (text: string): string => text.replace(/(?![\0\t\n\r])\p{Cc}/gu, '')

/** Whether nothing of a text can be seen: white space, or characters without a shape of their own. */
export const isInvisible = (text: string): boolean => !VISIBLE.test(text)
