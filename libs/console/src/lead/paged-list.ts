/** The loaded rows of a list, newest first, and the cursor of the next page. */
export interface PagedList<Row> {
  rows: Row[]
  /** null if all rows are loaded. */
  next: string | null
}

type Numbered = { id: number } | { version: number }

/** Returns the number that identifies a row in its list. Newer rows have higher numbers. */
export const readNumber = (row: Numbered): number => ('version' in row ? row.version : row.id)

export const readPage = <Row>(page: { data: Row[]; next_cursor?: string | null }): PagedList<Row> => ({
  rows: page.data,
  next: page.next_cursor ?? null,
})

/**
 * Returns a list whose first page was loaded again. Keeps the known rows of later pages, and the rows that
 * newer rows have moved from the first page to a later page.
 */
export const replaceFirstPage = <Row extends Numbered>(
  known: PagedList<Row> | undefined,
  first: PagedList<Row>,
): PagedList<Row> => {
  const last = first.rows.at(-1)
  if (!known || !last || first.next === null) return first
  const older = known.rows.filter((row) => readNumber(row) < readNumber(last))
  return older.length > 0 ? { rows: [...first.rows, ...older], next: known.next } : first
}

export const addPage = <Row>(known: PagedList<Row>, page: PagedList<Row>): PagedList<Row> => ({
  rows: [...known.rows, ...page.rows],
  next: page.next,
})
