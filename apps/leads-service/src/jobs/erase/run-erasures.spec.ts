import { EraseLeadEventsResponse } from '@leadwire/contracts'
import { limitRepeats } from '@leadwire/service-kit'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'
import type { Elsewhere } from '../elsewhere'
import { eraseOnce } from './run-erasures'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

/** Makes a store that a test can make unavailable. */
const store = <Result>(respond: () => Result) => {
  let isAway = false
  return {
    call: async (): Promise<Result> => {
      if (isAway) throw new Error('the store is away')
      return respond()
    },
    setAway: (away: boolean) => {
      isAway = away
    },
  }
}

test('messages count as erased only when each of them was deleted, whichever store is away in which round', async () => {
  const { leads, db, logger } = service
  const { accountId } = await newAccount(service)
  const [{ reference }] = readOutcomes(await leads.createLeads({ leads: [newItem(accountId)] }))
  await leads.eraseLead({ accountId, reference })
  const known = { webhookEvents: 1, messages: [{ eventId: reference, sequence: 7 }] }
  const events = store(() => EraseLeadEventsResponse.fromPartial(known))
  const stream = store(() => undefined)
  const deps = {
    database: db,
    webhooks: { eraseLeadEvents: events.call },
    deleteMessage: stream.call,
    failures: limitRepeats(logger),
  } as unknown as Elsewhere
  const runRound = async ({ eventsAway = false, streamAway = false }) => {
    events.setAway(eventsAway)
    stream.setAway(streamAway)
    await db.query({
      text: "UPDATE erasures SET due_at = now() - interval '1 second' WHERE account_id = $1",
      values: [accountId],
    })
    await eraseOnce(deps)
    const { body } = await leads.retrieveErasure({ accountId, reference })
    const { erased } = JSON.parse(body.toString()).data as {
      erased: { what: string; count: number | null }[]
    }
    return Object.fromEntries(erased.map(({ what, count }) => [what, count]))
  }

  expect(await runRound({ eventsAway: true })).toMatchObject({ webhook_events: null, messages: null })
  expect(await runRound({ streamAway: true })).toMatchObject({ webhook_events: 1, messages: null })
  // The events are erased, but only webhook-service knows which messages the stream still has.
  expect(await runRound({ eventsAway: true })).toMatchObject({ webhook_events: 1, messages: null })
  expect(await runRound({})).toMatchObject({ webhook_events: 1, messages: 1 })
})
