import type { ListAppointmentsRequest, ListAppointmentsResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { listRecords } from '../leads/read/lead-records'
import { ENTRY_COLUMNS, entryJson } from './entry-row'

/** A lead's appointments, newest first. */
export const listAppointments =
  (deps: { database: Database }) =>
  (request: ListAppointmentsRequest): Promise<ListAppointmentsResponse> =>
    listRecords(deps.database, { table: 'appointments', columns: ENTRY_COLUMNS, jsonOf: entryJson }, request)
