import { recordAudit, statement, theRow } from '@leadwire/service-kit'
import { isId, isOptional, validate } from '../../arguments'
import { firstPage } from '../../database/page'
import type { Operation } from '../../operation'

/** What an import shows, in this order; of the table as `t`. */
export const IMPORT_COLUMNS = `t.id, t.state, t.format, t.webhooks, t.file_size, t.position AS bytes_read, t.rows_read,
  t.rows_created, t.rows_failed, t.failure, t.created_at, t.finished_at`

const PER_ANSWER = 100

type ImportRow = { id: number }

const select = statement<ImportRow>('retrieve-import')`
  SELECT ${IMPORT_COLUMNS} FROM imports t WHERE account_id = $1 AND id = $2`

const list = statement<ImportRow>('list-imports')`
  SELECT ${IMPORT_COLUMNS} FROM imports t
  WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT ${PER_ANSWER + 1}`

const listFaults = statement<{ row: number; errors: string }>('list-import-faults')`
  SELECT row, errors FROM import_faults
  WHERE account_id = $1 AND import_id = $2 AND row > $3 ORDER BY row LIMIT ${PER_ANSWER + 1}`

const CANCEL = `
  UPDATE imports t SET state = 'cancelled', finished_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND state IN ('queued', 'running')
  RETURNING ${IMPORT_COLUMNS}`

export const importBody = (row: object): Buffer => Buffer.from(`{"data":${JSON.stringify(row)}}`)

export const retrieveImport: Operation<'retrieveImport'> = async ({ database }, { accountId, importId }) => {
  validate({ account_id: isId(accountId), import_id: isId(importId) })
  return { body: importBody(theRow(await select(database, accountId, importId), 'import')) }
}

export const listImports: Operation<'listImports'> = async ({ database }, { accountId, before }) => {
  validate({ account_id: isId(accountId), before: isOptional(before, isId) })
  const rows = await list(database, accountId, before ?? Number.MAX_SAFE_INTEGER)
  const { shown, last } = firstPage(rows, PER_ANSWER)
  return { items: Buffer.from(JSON.stringify(shown)), nextBefore: last?.id }
}

/** The rows of an import that were refused, and why, in their order. Throws not_found. */
export const listImportFaults: Operation<'listImportFaults'> = async (deps, request) => {
  const { accountId, importId, after = 0 } = request
  validate({ after: after === 0 || isId(after) })
  await retrieveImport(deps, { accountId, importId })
  const rows = await listFaults(deps.database, accountId, importId, after)
  const { shown, last } = firstPage(rows, PER_ANSWER)
  const items = shown.map(({ row, errors }) => `{"row":${row},"errors":${errors}}`)
  return { items: Buffer.from(`[${items}]`), nextAfter: last?.row }
}

/** Ends an import: no row more is created, and those that were stay. One that has ended stays as it is. Throws not_found. */
export const cancelImport: Operation<'cancelImport'> = async (deps, { accountId, importId }) => {
  validate({ account_id: isId(accountId), import_id: isId(importId) })
  const cancelled = await deps.database.transaction(async (tx) => {
    const [row] = await tx.query<ImportRow>({ text: CANCEL, values: [accountId, importId] })
    if (row) recordAudit(tx, deps.actor, { accountId, action: 'import.cancelled', targetId: importId })
    return row
  })
  return cancelled ? { body: importBody(cancelled) } : retrieveImport(deps, { accountId, importId })
}
