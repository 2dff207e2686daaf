import type { CreateLead } from '@leadwire/contracts'
import { ServiceError, statement, type Transaction } from '@leadwire/service-kit'

// Tokens are locked before accounts, by ascending id. Refused leads are counted too: the day is over for the token then.
const count = statement<{ id: number; before: number; endsInS: number }>('count-daily')`
  WITH locked AS MATERIALIZED (
    SELECT t.id, asked.leads FROM unnest($1::bigint[], $2::int[]) AS asked (token_id, leads)
    JOIN tokens t ON t.id = asked.token_id
    ORDER BY t.id FOR NO KEY UPDATE OF t
  )
  UPDATE tokens t SET captured_on = (clock_timestamp() AT TIME ZONE 'UTC')::date,
    captured = leads + CASE WHEN captured_on = (clock_timestamp() AT TIME ZONE 'UTC')::date THEN captured ELSE 0 END
  FROM locked WHERE t.id = locked.id
  RETURNING t.id, t.captured - leads AS before,
    ceil(extract(epoch FROM (captured_on + 1)::timestamp AT TIME ZONE 'UTC' - clock_timestamp()))::int AS "endsInS"`

/** Counts leads that have a limit of a day, in the transaction that creates them. The errors of those beyond it. */
export const countDaily = async (
  tx: Transaction,
  items: CreateLead[],
): Promise<Map<CreateLead, ServiceError>> => {
  const ofToken = new Map<number, CreateLead[]>()
  for (const item of items) {
    const { dailyLimit, actor } = item
    if (dailyLimit !== undefined && actor)
      ofToken.set(actor.tokenId, [...(ofToken.get(actor.tokenId) ?? []), item])
  }
  if (ofToken.size === 0) return new Map()
  const rows = await count(
    tx,
    [...ofToken.keys()],
    [...ofToken.values()].map(({ length }) => length),
  )
  return new Map(
    rows.flatMap(({ id, before, endsInS }) =>
      ofToken.get(id)!.flatMap((item, index): [CreateLead, ServiceError][] => {
        const { dailyLimit = 0 } = item
        if (before + index < dailyLimit) return []
        const detail = `The token may create ${dailyLimit} leads a day.`
        return [[item, new ServiceError('rate_limited', detail, { retryAfterS: Math.max(1, endsInS) })]]
      }),
    ),
  )
}
