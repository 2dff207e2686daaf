/**
 * Returns the first `limit` rows, which make up a page. The statement must have asked for `limit` + 1 rows,
 * because the additional row shows that a further page follows. `last` is the last row of the page, or
 * undefined if no further page follows.
 */
export const firstPage = <Row>(rows: Row[], limit: number): { shown: Row[]; last: Row | undefined } => {
  const shown = rows.slice(0, limit)
  return { shown, last: rows.length > limit ? shown.at(-1) : undefined }
}
