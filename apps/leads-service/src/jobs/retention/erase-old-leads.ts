import { hasEnded, type Round, statement } from '@leadwire/service-kit'
import type { Dependencies } from '../../operation'
import { erase, lockLead } from '../erase/erase-lead'
import { HAS_AGED, IS_TO_BE_ERASED } from './old-leads'

/** The maximum number of leads that are erased in a round. An account has at most one round a minute. */
const ERASED = 100
/** The maximum number of leads that a round reads. */
const READ = 2000

/** A round of an account: its rule, and how far the pass has come. */
interface Claimed {
  accountId: number
  statuses: string[]
  months: number
  /** null at the start of a pass, as `readNumber`. */
  readUntil: string | null
  readNumber: number | null
}

// Claims the account whose round has been due for longest. The claim lasts for a minute. If the process dies,
// the next round therefore starts at the earliest a minute after this round, so that at most 100 leads are
// erased in a minute. Skips suspended accounts. An account that is being deleted is suspended, too.
const claim = statement<Claimed>('claim-lead-retention')`
  UPDATE lead_retention r SET due_at = clock_timestamp() + interval '1 minute'
  WHERE account_id = (
    SELECT r.account_id FROM lead_retention r JOIN accounts a ON a.id = r.account_id
    WHERE ${hasEnded('r.due_at', "interval '1 day'")} AND a.suspended_at IS NULL
    ORDER BY r.due_at LIMIT 1 FOR NO KEY UPDATE OF r SKIP LOCKED
  )
  RETURNING account_id AS "accountId", statuses, months, read_until AS "readUntil", read_number AS "readNumber"`

interface ReadLead {
  updatedAt: string
  number: number
  reference: string
  matches: boolean
}

// Reads a range of the index leads_by_updated_at.
const readLeads = statement<ReadLead>('read-old-leads')`
  SELECT l.updated_at AS "updatedAt", l.number, l.reference, ${IS_TO_BE_ERASED} AS matches
  FROM leads l
  WHERE l.account_id = $1 AND ${HAS_AGED}
    AND (l.updated_at, l.number) > (coalesce($4::timestamptz, '-infinity'), coalesce($5::bigint, 0))
  ORDER BY l.updated_at, l.number LIMIT ${READ}`

const OF_RULE = 'account_id = $1 AND statuses = $2 AND months = $3'

// Compares the rule, so that a round of a replaced rule does not move the pass of the new rule. If the round
// has erased nothing ($6), the next round may start at once.
const savePosition = statement('save-retention-position')`
  UPDATE lead_retention SET read_until = $4, read_number = $5,
    due_at = CASE WHEN $6 THEN clock_timestamp() ELSE due_at END
  WHERE ${OF_RULE}`

const endPass = statement('end-retention-pass')`
  UPDATE lead_retention SET read_until = NULL, read_number = NULL,
    due_at = clock_timestamp() + interval '1 day'
  WHERE ${OF_RULE}`

const checkLead = statement('check-old-lead')`
  SELECT FROM leads l WHERE l.account_id = $1 AND l.reference = $4 AND ${HAS_AGED} AND ${IS_TO_BE_ERASED}
    AND EXISTS (SELECT FROM lead_retention WHERE ${OF_RULE})`

type Deps = Pick<Dependencies, 'database' | 'assetsUrl' | 'jsonFormat'>

/** Erases a lead, unless the lead or the rule has changed since the lead was read. */
const eraseIfOld = (deps: Deps, { accountId, statuses, months }: Claimed, reference: string): Promise<void> =>
  deps.database.transaction(async (tx) => {
    const [lead] = await lockLead(tx, accountId, reference)
    const [found] = await checkLead(tx, accountId, statuses, months, reference)
    if (!lead || !found) return
    // Keeps the refused rows of imports, because a person may still correct them. They are deleted after 30
    // days.
    await erase(tx, accountId, lead, { ...deps, actor: undefined, erasesImportRows: false })
  })

/**
 * Runs a round: reads the next leads of an account that have aged, oldest change first. Erases the leads to
 * which the account's rule applies. When a pass has read all aged leads, the next pass starts a day later.
 * Resolves with `pause` after a round, so that rounds do not take the database's time from requests.
 */
export const eraseOldLeads = async (deps: Deps): Promise<Round> => {
  const { database } = deps
  const [claimed] = await claim(database)
  if (!claimed) return false
  const { accountId, statuses, months, readUntil, readNumber } = claimed
  const read = await readLeads(database, accountId, statuses, months, readUntil, readNumber)
  const matches = read.filter((lead) => lead.matches)
  const erased = matches.slice(0, ERASED)
  for (const { reference } of erased) await eraseIfOld(deps, claimed, reference)
  // The next round continues behind the last lead that this round has dealt with.
  const last = erased.length < matches.length ? erased.at(-1) : read.at(-1)
  const isEnd = erased.length === matches.length && read.length < READ
  if (isEnd || !last) await endPass(database, accountId, statuses, months)
  else {
    const { updatedAt, number } = last
    await savePosition(database, accountId, statuses, months, updatedAt, number, erased.length === 0)
  }
  return 'pause'
}
