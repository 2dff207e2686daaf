import type { RetrieveErasureRequest, RetrieveErasureResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { demand, isId, isUuid } from '../../arguments'
import { receiptOf } from './erasure'

/** The receipt of a lead's erasure. Throws not_found, also for a lead that nobody asked to erase. */
export const retrieveErasure =
  (deps: { database: Database; backupRetentionDays: number | undefined }) =>
  async (request: RetrieveErasureRequest): Promise<RetrieveErasureResponse> => {
    demand({ account_id: isId(request.accountId) })
    const { database, backupRetentionDays } = deps
    const body = isUuid(request.reference)
      ? await receiptOf(database, request, backupRetentionDays)
      : undefined
    if (!body) throw new ServiceError('not_found', 'There is no erasure of a lead with this reference.')
    return { body }
  }
