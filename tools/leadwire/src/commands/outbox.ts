import type { Command } from 'commander'
import { addAction, parseId, requireAccount } from './run'

/** Adds `leadwire outbox …`. */
export const addOutbox = (program: Command): void => {
  const outbox = program
    .command('outbox')
    .description('manage events that webhook-service has not stored yet')

  addAction<{ account?: number }>(
    outbox
      .command('retry')
      .description('publish again the events that webhook-service refused (dead letters)')
      .option('--account <id>', 'only events of this account', parseId),
    async (connection, { account: accountId }) => {
      if (accountId !== undefined) await requireAccount(connection, accountId)
      let released = 0
      let more: boolean
      do {
        const batch = await connection.reconciliation.retryRefusedEvents({ accountId })
        released += batch.events
        more = batch.more
      } while (more)
      return { released_events: released }
    },
  )
}
