import type { Transaction } from '@leadwire/service-kit'

/** How the erasure of one kind of data in one store fares; null until it is done. */
export interface ErasedPlace {
  store: 'postgresql' | 'object_store' | 'jetstream'
  what: string
  count: number | null
  erased_at: string | null
}

/** An event that was not known to be held by webhook-service, and where it is in the stream, if it is known to be there. */
export interface LooseEvent {
  id: string
  sequence: number | null
}

/** What an erasure's row keeps. */
export interface Erasure {
  accountId: number
  leadId: number
  reference: string
  places: ErasedPlace[]
  events: LooseEvent[]
}

interface ReceiptRow {
  reference: string
  requested_at: string
  finished_at: string | null
  places: string
  imports_until: string | null
  stream_until: string | null
  backups_until: string | null
}

const SELECT = `
  SELECT l.reference, e.requested_at, e.finished_at, e.places,
    (
      SELECT max(i.created_at) + interval '24 hours' FROM imports i
      WHERE i.account_id = l.account_id AND i.key IS NOT NULL AND i.created_at < e.requested_at
    ) AS imports_until,
    CASE WHEN e.stream_until > clock_timestamp() THEN e.stream_until END AS stream_until,
    e.finished_at + $3::int * interval '1 day' AS backups_until
  FROM leads l JOIN erasures e ON e.account_id = l.account_id AND e.lead_id = l.id
  WHERE l.account_id = $1 AND l.reference = $2`

// The file of an import is deleted when the import ends, which it does within a day. The WAL of a running server and the pages of
// tables hold what was before a change until they are written over, which no time bounds. None can be asked for through the service.
const remainsOf = ({ imports_until, stream_until, backups_until }: ReceiptRow) => [
  ...(imports_until === null ? [] : [{ where: 'imports', until: imports_until }]),
  ...(stream_until === null ? [] : [{ where: 'stream', until: stream_until }]),
  { where: 'wal', until: backups_until },
  { where: 'backups', until: backups_until },
]

/** The receipt of an erasure as JSON; undefined where the lead was not erased. */
export const receiptOf = async (
  db: Transaction,
  { accountId, reference }: { accountId: number; reference: string },
  backupRetentionDays: number | undefined,
): Promise<Buffer | undefined> => {
  const [row] = await db.query<ReceiptRow>({
    name: 'select-receipt',
    text: SELECT,
    values: [accountId, reference, backupRetentionDays ?? null],
  })
  if (!row) return undefined
  const receipt = {
    lead_reference: row.reference,
    status: row.finished_at === null ? 'running' : 'done',
    requested_at: row.requested_at,
    finished_at: row.finished_at,
    erased: JSON.parse(row.places),
    remains: remainsOf(row),
  }
  return Buffer.from(JSON.stringify({ data: receipt }))
}
