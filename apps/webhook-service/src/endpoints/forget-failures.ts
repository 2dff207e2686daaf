import type { Transaction } from '@leadwire/service-kit'

/** An endpoint that was changed, or is none any more, has not failed yet. After its deliveries, as every writer of both. */
export const forgetFailures = async (tx: Transaction, endpointId: number): Promise<void> =>
  void (await tx.query({
    name: 'forget-failures',
    text: 'DELETE FROM endpoint_failures WHERE endpoint_id = $1',
    values: [endpointId],
  }))
