import { Link } from 'wouter-preact'
import { api } from '../api'
import { type Attempt, describeResult, describeState } from '../deliveries'
import { retrieveNotification, type ShownNotification, SUBJECT_LABELS } from '../notifications'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { formatDuration } from '../parts/format'
import { useLive } from '../parts/live'
import { Empty, type FactRows, Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { useRetry } from '../parts/retry'
import { type Column, Table } from '../parts/table'
import { Ahead, Exactly } from '../parts/time'

const COLUMNS: Column<Attempt>[] = [
  { name: 'Attempt', cell: ({ number }) => `Attempt ${number}` },
  { name: 'Result', cell: (attempt) => <span class="wrap">{describeResult(attempt)}</span> },
  {
    name: "Mail server's response",
    cell: ({ response }) =>
      response ? <span class="mono wrap">{response}</span> : <span class="none">nothing</span>,
  },
  { name: 'Took', cell: ({ duration_ms }) => formatDuration(duration_ms) },
  { name: 'When', cell: ({ started_at }) => <Exactly at={started_at} /> },
]

const listFacts = (shown: ShownNotification, { scopes }: Pick<PageProps, 'scopes'>): FactRows => {
  const { lead_reference: lead, endpoint_id: endpoint, date, next_attempt_at: next } = shown
  return [
    ['About', SUBJECT_LABELS[shown.subject]],
    ['To', `${shown.user_email}${shown.user_id === null ? ', the contact of the account' : ''}`],
    ['Lead', lead && (scopes.has('leads:read') ? <Link href={`/leads/${lead}`}>{lead}</Link> : lead)],
    ['Endpoint', endpoint && <Link href={`/endpoints/${endpoint}`}>{`#${endpoint}`}</Link>],
    ['Takes place', date && <Exactly at={date} />],
    ['Created', <Exactly at={shown.created_at} />],
    ['Updated', <Exactly at={shown.updated_at} />],
    ['Next attempt', next && <Ahead at={next} />],
  ]
}

/**
 * Returns whether the API would accept a retry: the notification is not cancelled, and no attempt is in
 * flight or about to start.
 */
const mayRetry = ({ status, next_attempt_at }: ShownNotification) =>
  status !== 'cancelled' &&
  (status !== 'pending' || (next_attempt_at !== null && Date.parse(next_attempt_at) > Date.now() + 2000))

/** /notifications/:id: one e-mail with its attempts. */
export const Notification = ({ id: text, scopes }: PageProps) => {
  const id = Number(text)
  const { data, problem, refresh } = useLive(text, (signal) => retrieveNotification(id, signal))
  const { retry, outcome } = useRetry({
    send: () => api().POST('/manage/notifications/{id}/retry', { params: { path: { id } } }),
    load: () => retrieveNotification(id),
    refresh,
  })
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  return (
    <>
      <Title
        title={`Notification ${id}`}
        from={['Notifications', '/notifications']}
        actions={
          scopes.has('manage') &&
          mayRetry(data) && (
            <Action
              label="Retry now"
              run={() => retry(data.attempts.length)}
              question={
                data.status === 'delivered'
                  ? {
                      title: 'Send it again?',
                      yes: 'Send again',
                      content: <p>{`${data.user_email} gets the message twice.`}</p>,
                    }
                  : undefined
              }
            />
          )
        }
      >
        {`Notification ${id} `}
        <Badge {...describeState(data)} />
      </Title>
      <p role="status" class="outcome">
        {outcome}
      </p>
      <Facts rows={listFacts(data, { scopes })} />
      <h2>Attempts</h2>
      {data.attempts.length === 0 ? (
        <Empty>Nothing has been sent yet.</Empty>
      ) : (
        <Table
          caption="Attempts, newest first"
          columns={COLUMNS}
          rows={data.attempts.toReversed()}
          getKey={({ number }) => number}
        />
      )}
    </>
  )
}
