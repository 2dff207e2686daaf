import { statement } from '@leadwire/service-kit'

/** SQL: adds to the report of an endpoint and type that waits to be sent. An endpoint that fails already is not reported again. */
export const ADD_TO_REPORT = `
  ON CONFLICT (endpoint_id, type) DO UPDATE SET
    open = excluded.open,
    count = r.count + excluded.count,
    since = CASE WHEN r.count = 0 THEN excluded.since ELSE r.since END,
    at = excluded.at,
    due_at = coalesce(r.due_at, excluded.due_at),
    delivery_id = excluded.delivery_id
  WHERE NOT r.open`

/** Reports that an endpoint $1, which has failed since $2, was disabled at $3. */
export const reportDisabled = statement('report-disabled')`
  INSERT INTO endpoint_reports AS r (endpoint_id, type, count, since, at, due_at)
  VALUES ($1, 'endpoint.disabled', 1, $2, $3, $3) ${ADD_TO_REPORT}`

export const deleteReports = statement('delete-reports')`DELETE FROM endpoint_reports WHERE endpoint_id = $1`
