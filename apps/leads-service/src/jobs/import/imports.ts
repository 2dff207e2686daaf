import type { FailedRow } from '@leadwire/contracts'
import { recordAudit, statement, theRow } from '@leadwire/service-kit'
import { firstPage } from '../../database/page'
import type { Operation } from '../../operation'
import { renderRowValues } from './render-row-values'

/** SQL: the public fields of an import `t`, in the order of the response. */
export const IMPORT_COLUMNS = `t.id, t.state, t.format, t.file_name, t.webhooks, t.file_size, t.position AS bytes_read, t.rows_read,
  t.rows_created, t.rows_failed, t.ignored_columns, t.failure, t.created_at, t.finished_at`

const PER_ANSWER = 100

type ImportRow = { id: number }

interface ImportHeader {
  format: string
  columns: string[]
  delimiter: string
}

const select = statement<ImportRow>('retrieve-import')`
  SELECT ${IMPORT_COLUMNS} FROM imports t WHERE account_id = $1 AND id = $2`

const list = statement<ImportRow>('list-imports')`
  SELECT ${IMPORT_COLUMNS} FROM imports t
  WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT ${PER_ANSWER + 1}`

/**
 * The maximum size of the values of a row in a list of errors, in bytes of JSON, with the names of the
 * columns. A response has at most 100 rows. Without the limit, long names in 100 rows made a response of
 * 68 MB.
 */
const MAX_SHOWN_BYTES = 16 * 1024

const listErrors = statement<{ row: number; errors: string; source: string | null }>('list-import-errors')`
  SELECT row, errors, CASE WHEN octet_length(source) <= $4 THEN source END AS source
  FROM import_errors
  WHERE account_id = $1 AND import_id = $2 AND row > $3 ORDER BY row LIMIT ${PER_ANSWER + 1}`

const selectHeader = statement<ImportHeader>('import-header')`
  SELECT format, columns, delimiter FROM imports WHERE account_id = $1 AND id = $2`

const listRows = statement<FailedRow>('list-failed-rows')`
  SELECT row, source, errors FROM import_errors
  WHERE account_id = $1 AND import_id = $2 AND row > $3 AND source IS NOT NULL
  ORDER BY row LIMIT ${PER_ANSWER + 1}`

const CANCEL = `
  UPDATE imports t SET state = 'cancelled', finished_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND state IN ('queued', 'running')
  RETURNING ${IMPORT_COLUMNS}`

export const importBody = (row: object): Buffer => Buffer.from(`{"data":${JSON.stringify(row)}}`)

export const retrieveImport: Operation<'retrieveImport'> = async ({ database }, { accountId, importId }) => ({
  body: importBody(theRow(await select(database, accountId, importId), 'import')),
})

export const listImports: Operation<'listImports'> = async ({ database }, { accountId, before }) => {
  const rows = await list(database, accountId, before ?? Number.MAX_SAFE_INTEGER)
  const { shown, last } = firstPage(rows, PER_ANSWER)
  return { items: Buffer.from(JSON.stringify(shown)), nextBefore: last?.id }
}

/**
 * Lists the refused rows of an import with their errors and values, in the order of the file. Throws
 * `not_found` if there is no such import.
 */
export const listImportErrors: Operation<'listImportErrors'> = async ({ database }, request) => {
  const { accountId, importId, after = 0 } = request
  const header = theRow(await selectHeader(database, accountId, importId), 'import')
  const maxBytes = MAX_SHOWN_BYTES - Buffer.byteLength(JSON.stringify(header.columns))
  const rows = await listErrors(database, accountId, importId, after, maxBytes)
  const { shown, last } = firstPage(rows, PER_ANSWER)
  const items = shown.map(
    ({ row, errors, source }) =>
      `{"row":${row},"errors":${errors},"values":${renderRowValues(header, source)}}`,
  )
  return { items: Buffer.from(`[${items}]`), nextAfter: last?.row }
}

/**
 * Lists the refused rows of an import as they were sent, in the order of the file. Leaves out rows that were
 * erased or not stored. Throws `not_found` if there is no such import.
 */
export const listFailedRows: Operation<'listFailedRows'> = async ({ database }, request) => {
  const { accountId, importId, after = 0 } = request
  const header = theRow(await selectHeader(database, accountId, importId), 'import')
  const rows = await listRows(database, accountId, importId, after)
  const { shown, last } = firstPage(rows, PER_ANSWER)
  return { ...header, rows: shown, nextAfter: last?.row }
}

/**
 * Cancels an import. The leads that the import has created stay, and no further lead is created. Does not
 * change an import that has already ended. Throws `not_found` if there is no such import.
 */
export const cancelImport: Operation<'cancelImport'> = async (deps, { accountId, importId }) => {
  const cancelled = await deps.database.transaction(async (tx) => {
    const [row] = await tx.query<ImportRow>({ text: CANCEL, values: [accountId, importId] })
    if (row) recordAudit(tx, deps.actor, { accountId, action: 'import.cancelled', targetId: importId })
    return row
  })
  return cancelled ? { body: importBody(cancelled) } : retrieveImport(deps, { accountId, importId })
}
