import type { Match } from '@leadwire/contracts'

export interface MatchColumns {
  status: string
  referrer: string
  postcode: string
  user_email: string | null
}

/** SQL: what filters of endpoints compare, of a lead `l`. */
export const MATCH = `l.status, l.referrer, l.postcode,
  (SELECT email FROM users u WHERE u.account_id = l.account_id AND u.id = l.user_id) AS user_email`

/** The same of a row with these columns. */
export const matchOf = ({ status, referrer, postcode, user_email }: MatchColumns): Match => ({
  ...{ status, referrer, postcode },
  userEmail: user_email ?? undefined,
})
