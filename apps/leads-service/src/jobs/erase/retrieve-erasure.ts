import { ServiceError, statement } from '@leadwire/service-kit'
import { isId, isUuid, validate } from '../../arguments'
import type { Operation } from '../../operation'

const select = statement<Record<string, string | null>>('select-receipt')`
  SELECT l.reference AS lead_reference, CASE WHEN e.finished_at IS NULL THEN 'running' ELSE 'done' END AS status,
    e.requested_at, e.finished_at, e.places AS erased, e.receivers,
    (
      SELECT max(i.created_at) + interval '24 hours' FROM imports i
      WHERE i.account_id = l.account_id AND i.key IS NOT NULL AND i.created_at < e.requested_at
    ) AS imports_until,
    CASE WHEN e.stream_until > clock_timestamp() THEN e.stream_until END AS stream_until,
    e.finished_at + $3::int * interval '1 day' AS backups_until
  FROM leads l JOIN erasures e ON e.account_id = l.account_id AND e.lead_id = l.id
  WHERE l.account_id = $1 AND l.reference = $2`

/** The receipt of a lead's erasure. Throws not_found, also for a lead whose erasure was never requested. */
export const retrieveErasure: Operation<'retrieveErasure'> = async (deps, { accountId, reference }) => {
  validate({ account_id: isId(accountId) })
  const values = [accountId, reference, deps.backupRetentionDays ?? null]
  const [row] = isUuid(reference) ? await select(deps.database, ...values) : []
  if (!row) throw new ServiceError('not_found', 'There is no erasure of a lead with this reference.')
  const { imports_until, stream_until, backups_until, erased, receivers, ...receipt } = row
  // The file of an import is deleted when the import ends, which it does within a day. The WAL of a running server and the pages
  // of tables hold what was before a change until they are written over, which no time bounds. None can be asked for through the
  // service.
  const remains = [
    ...(imports_until ? [{ where: 'imports', until: imports_until }] : []),
    ...(stream_until ? [{ where: 'stream', until: stream_until }] : []),
    { where: 'wal', until: backups_until },
    { where: 'backups', until: backups_until },
  ]
  const data = {
    ...receipt,
    erased: JSON.parse(erased!),
    receivers: JSON.parse(receivers ?? 'null'),
    remains,
  }
  return { body: Buffer.from(JSON.stringify({ data })) }
}
