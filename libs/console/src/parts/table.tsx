import type { ComponentChildren } from 'preact'

export interface Column<Row> {
  name: string
  /** Renders the cell of a row. The cells of the first column are the headers of the rows. */
  cell: (row: Row) => ComponentChildren
}

interface TableProps<Row> {
  caption: string
  columns: Column<Row>[]
  rows: Row[]
  getKey: (row: Row) => string | number
}

/**
 * A table that becomes a list of cards on a narrow screen. Sets all roles explicitly, because the CSS for
 * cards removes the implicit roles.
 */
export const Table = <Row,>({ caption, columns, rows, getKey }: TableProps<Row>) => (
  <table class="rows card" role="table">
    <caption class="unseen">{caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(({ name }) => (
          <th key={name} scope="col" role="columnheader">
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody role="rowgroup">
      {rows.map((row) => (
        <tr key={getKey(row)} role="row">
          {columns.map(({ name, cell }, index) =>
            index === 0 ? (
              <th key={name} scope="row" role="rowheader">
                {cell(row)}
              </th>
            ) : (
              <td key={name} role="cell" data-label={name}>
                {cell(row)}
              </td>
            ),
          )}
        </tr>
      ))}
    </tbody>
  </table>
)
