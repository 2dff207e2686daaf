/** The first rows of a statement that reads one more than `limit`, and the last of them; undefined where none follows. */
export const firstPage = <Row>(rows: Row[], limit: number): { shown: Row[]; last: Row | undefined } => {
  const shown = rows.slice(0, limit)
  return { shown, last: rows.length > limit ? shown.at(-1) : undefined }
}
