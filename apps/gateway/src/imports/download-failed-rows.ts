import { Readable } from 'node:stream'
import {
  type FailedRow,
  isReportColumn,
  type ListFailedRowsResponse,
  REPORT_COLUMNS,
} from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { holdPlace } from '../admission/admission'
import { operation } from '../api/operation'
import { IMPORT_TYPES } from '../body/import-types'
import { unguarded, writeCsv } from '../exports/lead-csv'

type Page = ListFailedRowsResponse

/**
 * Returns the number, the errors and the cells of a refused row. Omits the cells in the columns `import_row`
 * and `import_errors`. The imported file has these two columns if the file was itself a download of refused
 * rows.
 */
const writeRow = ({ row, source, errors }: FailedRow, columns: string[]): unknown[] => {
  const cells = (JSON.parse(source) as string[]).filter((_, index) => !isReportColumn(columns[index] ?? ''))
  const messages = Object.values(JSON.parse(errors) as FieldErrors).flat()
  // Removes the apostrophe that guards a cell against formulas, because `writeCsv` adds this apostrophe
  // again.
  return [row, messages.join(' '), ...cells.map(unguarded)]
}

const writePage = ({ format, columns, delimiter, rows }: Page): string =>
  format === 'csv'
    ? writeCsv(
        rows.map((row) => writeRow(row, columns)),
        delimiter,
      )
    : rows.map(({ source }) => `${JSON.parse(source)}\n`).join('')

// Starts a CSV file with a byte order mark, because Excel reads UTF-8 only after such a mark.
const writeHeader = ({ format, columns, delimiter }: Page): string =>
  format === 'csv'
    ? `\uFEFF${writeCsv([[...REPORT_COLUMNS, ...columns.filter((name) => !isReportColumn(name))]], delimiter)}`
    : ''

async function* writeFile(
  first: Page,
  find: (after: number) => Promise<Page>,
  mayGoOn: () => Promise<void>,
): AsyncGenerator<string> {
  yield writeHeader(first)
  let page = first
  for (;;) {
    yield writePage(page)
    if (page.nextAfter === undefined) return
    await mayGoOn()
    page = await find(page.nextAfter)
  }
}

export const downloadFailedRows = operation({
  route: 'GET /manage/imports/:id/failed-rows',
  summary: 'Download the refused rows of an import',
  description:
    'Returns the refused rows in the format of the import, to be corrected and imported again. In CSV, the columns `import_row` (number of the row) and `import_errors` (errors of the row) precede the columns of the file. An import ignores these two columns. Only the first 10,000 refused rows are stored, up to 16 MiB in total. Rows over 256 KiB are not stored. Erasing any lead of the account deletes the stored rows.',
  answer: { description: 'The refused rows, in the order of the file.', types: Object.keys(IMPORT_TYPES) },
  handler: async ({ request, reply, pathId, accountId, clients, limits, recheck, dependencies }) => {
    const { admission, draining } = dependencies
    const importId = pathId()
    const signal = limits.goneSignal()
    const find = (after?: number) =>
      clients.imports.listFailedRows({ accountId, importId, after }, { signal })
    const first = await find()
    if (first.rows.length === 0)
      throw new ServiceError(
        'not_found',
        'The import has no refused rows, or they are no longer stored. Correct the rows in the original file.',
      )
    const isCsv = first.format === 'csv'
    reply.headers({
      'content-type': isCsv ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson',
      'content-disposition': `attachment; filename="failed-rows-${importId}.${first.format}"`,
    })
    if (request.method === 'HEAD') return undefined
    await holdPlace(reply, admission.exports(accountId))
    const mayGoOn = async () => {
      draining.throwIfAborted()
      await recheck()
    }
    return Readable.from(writeFile(first, find, mayGoOn), { objectMode: false })
  },
})
