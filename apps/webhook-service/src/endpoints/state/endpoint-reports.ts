import { statement } from '@leadwire/service-kit'

/**
 * SQL: adds to an existing report of the same endpoint and type. Changes nothing if the report is open,
 * because the endpoint is already reported as failing.
 */
const ADD_TO_REPORT = `
  ON CONFLICT (endpoint_id, type) DO UPDATE SET
    open = excluded.open,
    count = r.count + excluded.count,
    since = CASE WHEN r.count = 0 THEN excluded.since ELSE r.since END,
    at = excluded.at,
    due_at = coalesce(r.due_at, excluded.due_at),
    delivery_id = excluded.delivery_id
  WHERE NOT r.open`

/**
 * Reports that endpoints have been failing since `since`, and that their latest failed attempt began at `at`.
 */
export const reportFailing = statement('report-failing')`
  INSERT INTO endpoint_reports AS r (endpoint_id, type, open, count, since, at, due_at)
  SELECT endpoint_id, 'endpoint.failing', true, 0, since, at, at
  FROM unnest(:endpointId::bigint[], :since::timestamptz[], :at::timestamptz[]) AS f (endpoint_id, since, at) ORDER BY 1
  ${ADD_TO_REPORT}`

/** Reports that endpoints have succeeded at `at`, if they are reported as failing since an earlier time. */
export const reportRecovered = statement('report-recovered')`
  UPDATE endpoint_reports r SET open = false, due_at = coalesce(due_at, r.at), at = s.at
  FROM unnest(:endpointId::bigint[], :at::timestamptz[]) AS s (endpoint_id, at)
  WHERE r.endpoint_id = s.endpoint_id AND r.type = 'endpoint.failing' AND r.open AND r.since < s.at
  RETURNING r.endpoint_id`

/**
 * Reports how many deliveries of endpoints have been exhausted. `since` and `at` are the starts of the
 * earliest and the latest final attempt. `deliveryId` is the newest of these deliveries.
 */
export const reportExhausted = statement('report-exhausted')`
  INSERT INTO endpoint_reports AS r (endpoint_id, type, open, count, since, at, due_at, delivery_id)
  SELECT endpoint_id, 'delivery.exhausted', false, count, since, at, at, delivery_id
  FROM unnest(:endpointId::bigint[], :count::int[], :since::timestamptz[], :at::timestamptz[], :deliveryId::bigint[])
    AS e (endpoint_id, count, since, at, delivery_id) ORDER BY 1
  ${ADD_TO_REPORT}`

/** Reports that an endpoint, which had been failing since `since`, was disabled at `at`. */
export const reportDisabled = statement('report-disabled')`
  INSERT INTO endpoint_reports AS r (endpoint_id, type, count, since, at, due_at)
  VALUES (:endpointId, 'endpoint.disabled', 1, :since, :at, :at) ${ADD_TO_REPORT}`

export const deleteReports = statement('delete-reports')`DELETE FROM endpoint_reports WHERE endpoint_id = $1`
