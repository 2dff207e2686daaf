// The maximum length of a name that is compared. Longer than the name of any field. The rest of a longer name
// is not normalised, because normalising a megabyte of accents takes a minute.
export const LONGEST_NAME = 255

/** Returns only the letters of a name. A column is identified by these letters, in any spelling. */
export const keepLetters = (name: string): string =>
  name
    .slice(0, LONGEST_NAME)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '')

/** The columns that a download of refused rows adds before the columns of the imported file. */
export const REPORT_COLUMNS: readonly string[] = ['import_row', 'import_errors']

const REPORT_LETTERS = REPORT_COLUMNS.map(keepLetters)

export const isReportColumn = (name: string): boolean => REPORT_LETTERS.includes(keepLetters(name))

/** Returns the name of a column without a name: its position, from 1. */
export const nameByPosition = (index: number): string => `column ${index + 1}`
