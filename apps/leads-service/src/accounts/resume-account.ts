import type { Actor, ResumeAccountRequest, ResumeAccountResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { setSuspension } from './set-suspension'

/** Ends the suspension of an account. Throws not_found and conflict. */
export const resumeAccount =
  (deps: { database: Database; actor?: Actor | undefined }) =>
  async ({ accountId }: ResumeAccountRequest): Promise<ResumeAccountResponse> => ({
    account: await setSuspension(deps, { accountId, suspended: false }),
  })
