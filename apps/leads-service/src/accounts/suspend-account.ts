import type { Actor, SuspendAccountRequest, SuspendAccountResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { setSuspension } from './set-suspension'

/** Suspends an account: its tokens are refused within a second, everywhere. Throws not_found and conflict. */
export const suspendAccount =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId }: SuspendAccountRequest): Promise<SuspendAccountResponse> => ({
    account: await setSuspension(deps, { accountId, suspended: true }),
  })
