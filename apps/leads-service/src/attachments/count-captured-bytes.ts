import { ServiceError, statement } from '@leadwire/service-kit'
import type { Operation } from '../operation'

const TODAY = "(clock_timestamp() AT TIME ZONE 'UTC')::date"

const COUNTED_TODAY = `CASE WHEN captured_bytes_on = ${TODAY} THEN captured_bytes ELSE 0 END`

const countBytes = statement<{ id: number }>('count-captured-bytes')`
  UPDATE tokens SET captured_bytes = ${COUNTED_TODAY} + $3, captured_bytes_on = ${TODAY}
  WHERE account_id = $1 AND id = $2 AND ${COUNTED_TODAY} + $3 <= $4
  RETURNING id`

const findEndOfDay = statement<{ inS: number }>('find-end-of-day')`
  SELECT ceil(extract(epoch FROM (${TODAY} + 1)::timestamp AT TIME ZONE 'UTC' - clock_timestamp()))::int AS "inS"`

/**
 * Counts the bytes of a form's files against the daily limit of the token. If the files would exceed the
 * limit, throws `rate_limited` and counts nothing, so a form with smaller files may still be accepted.
 */
export const countCapturedBytes: Operation<'countCapturedBytes'> = async ({ database }, request) => {
  const { accountId, tokenId, bytes, dailyLimit } = request
  const [counted] = await countBytes(database, accountId, tokenId, bytes, dailyLimit)
  if (counted) return {}
  const [end] = await findEndOfDay(database)
  const limit = dailyLimit.toLocaleString('en-GB')
  const detail = `This token may receive at most ${limit} bytes of files a day (UTC). Send smaller files, or try again tomorrow.`
  throw new ServiceError('rate_limited', detail, {
    retryAfterS: Math.max(1, end!.inS),
  })
}
