import type { Actor, CancelImportRequest, CancelImportResponse } from '@leadwire/contracts'
import { type Database, recordAudit } from '@leadwire/service-kit'
import { isId, validate } from '../../arguments'
import { IMPORT_COLUMNS, type ImportRow, importBody } from './import-row'
import { retrieveImport } from './retrieve-import'

const CANCEL = `
  UPDATE imports t SET state = 'cancelled', finished_at = clock_timestamp()
  WHERE account_id = $1 AND id = $2 AND state IN ('queued', 'running')
  RETURNING ${IMPORT_COLUMNS}`

/** Ends an import: no row more is created, and those that were stay. One that has ended stays as it is. Throws not_found. */
export const cancelImport =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId, importId }: CancelImportRequest): Promise<CancelImportResponse> => {
    validate({ account_id: isId(accountId), import_id: isId(importId) })
    const cancelled = await deps.database.transaction(async (tx) => {
      const [row] = await tx.query<ImportRow>({ text: CANCEL, values: [accountId, importId] })
      if (!row) return undefined
      recordAudit(tx, deps.actor, { accountId, action: 'import.cancelled', targetId: importId })
      return { body: importBody(row) }
    })
    return cancelled ?? retrieveImport(deps)({ accountId, importId })
  }
