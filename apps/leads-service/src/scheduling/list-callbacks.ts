import type { ListCallbacksRequest, ListCallbacksResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { listRecords } from '../leads/read/lead-records'
import { ENTRY_COLUMNS, entryJson } from './entry-row'

/** A lead's callbacks, newest first. */
export const listCallbacks =
  (deps: { database: Database }) =>
  (request: ListCallbacksRequest): Promise<ListCallbacksResponse> =>
    listRecords(deps.database, { table: 'callbacks', columns: ENTRY_COLUMNS, jsonOf: entryJson }, request)
