import { Link } from 'wouter-preact'
import { api } from '../api'
import { type Attempt, isTest, type RetrievedDelivery, reasonOf, retrieveDelivery } from '../deliveries'
import { type Endpoint, eventWords, listEndpoints, nameOf } from '../endpoints'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { DeliveryState } from '../parts/deliveries-table'
import { span } from '../parts/format'
import { useLive } from '../parts/live'
import { Facts, Failure, Loading, Title } from '../parts/page'
import { useRetry } from '../parts/retry'
import { SentRequest } from '../parts/sent-request'
import { Ago, Ahead, Exactly } from '../parts/time'

interface Shown {
  delivery: RetrievedDelivery
  /** Undefined when it was deleted. */
  endpoint?: Endpoint
}

/** Whether the API would make an attempt: the endpoint takes some, and none is in flight or due. */
const mayRetry = ({ delivery, endpoint }: Shown) => {
  const { status, next_attempt_at, request } = delivery
  if (!endpoint?.enabled || !request || status === 'held' || status === 'cancelled') return false
  return status !== 'pending' || (next_attempt_at !== null && Date.parse(next_attempt_at) > Date.now() + 2000)
}

const WhatIsNext = ({ delivery }: { delivery: RetrievedDelivery }) => {
  const { status, next_attempt_at } = delivery
  if (status === 'held') return <>Paused (held) until its endpoint is enabled.</>
  if (status === 'exhausted') return <>No try is left. It is kept, and you can retry it.</>
  if (status === 'cancelled') return <>Cancelled: its endpoint was deleted, or its lead erased.</>
  if (!next_attempt_at) return null
  return (
    <>
      Next try <Ahead at={next_attempt_at} />, at <Exactly at={next_attempt_at} />
    </>
  )
}

/** The API has null for an empty body. */
const withoutBody = ({ status, error }: Attempt) => {
  if (status === null) return 'No response.'
  return error === 'timeout' ? 'No body came in time.' : 'The response was empty.'
}

const Response = ({ attempt, isOpen }: { attempt: Attempt; isOpen: boolean }) =>
  attempt.response ? (
    <details open={isOpen}>
      <summary>
        Response <span class="faint">{attempt.response.length} characters</span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{attempt.response}</pre>
    </details>
  ) : (
    <p class="none">{withoutBody(attempt)}</p>
  )

const endOf = ({ started_at, duration_ms }: Attempt) => Date.parse(started_at) + duration_ms

/** The attempts, newest first; of the newest the response is open. */
const Timeline = ({ delivery }: { delivery: RetrievedDelivery }) => {
  const newestFirst = delivery.attempts.toReversed()
  return (
    <ol class="timeline" reversed>
      <li class="ahead">
        <WhatIsNext delivery={delivery} />
      </li>
      {newestFirst.map((attempt, index) => {
        const before = newestFirst[index + 1]
        return (
          <li key={attempt.number} class={attempt.error ? 'failed' : 'succeeded'}>
            <div class="card padded attempt">
              <div class="heading">
                <h3>{`Attempt ${attempt.number} ${attempt.error ? 'failed' : 'succeeded'}`}</h3>
                <Exactly at={attempt.started_at} />
              </div>
              <p class="outcome">{reasonOf(attempt)}</p>
              <p class="faint">
                {`Took ${span(attempt.duration_ms)}`}
                {before &&
                  `, ${span(Math.max(0, Date.parse(attempt.started_at) - endOf(before)))} after the one before`}
              </p>
              <Response attempt={attempt} isOpen={index === 0} />
            </div>
          </li>
        )
      })}
    </ol>
  )
}

const factsOf = ({ delivery, endpoint }: Shown): Parameters<typeof Facts>[0]['rows'] => [
  [
    'Endpoint',
    endpoint ? (
      <Link href={`/endpoints/${endpoint.id}`}>{nameOf(endpoint)}</Link>
    ) : (
      `${delivery.endpoint_id} (deleted)`
    ),
  ],
  ['Event', eventWords(delivery.event)],
  [
    'Lead',
    isTest(delivery) ? (
      'A sample that no customer asked for'
    ) : delivery.lead_reference === null ? (
      'None'
    ) : (
      <>
        {delivery.lead_name && (
          <>
            <Link href={`/leads/${delivery.lead_reference}`}>{delivery.lead_name}</Link>{' '}
          </>
        )}
        <Link class="mono" href={`/deliveries?lead_reference=${delivery.lead_reference}`}>
          {delivery.lead_reference}
        </Link>
      </>
    ),
  ],
  ['Event id (webhook-id)', <span class="mono">{delivery.event_id}</span>],
  ['Created', <Exactly at={delivery.created_at} />],
  ['Updated', <Ago at={delivery.updated_at} />],
]

/** /deliveries/:id: one delivery with every attempt, and what was sent. */
export const Delivery = ({ id: text }: { id: string }) => {
  const id = Number(text)
  const { data, problem, refresh } = useLive(text, async (signal): Promise<Shown> => {
    const [delivery, endpoints] = await Promise.all([retrieveDelivery(id, signal), listEndpoints(signal)])
    return { delivery, endpoint: endpoints.find((one) => one.id === delivery.endpoint_id) }
  })
  const { retry, outcome } = useRetry({
    send: () => api().POST('/manage/deliveries/{id}/retry', { params: { path: { id } } }),
    load: () => retrieveDelivery(id),
    refresh,
  })
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { delivery, endpoint } = data
  return (
    <>
      <Title
        title={`Delivery ${id}`}
        from={['Deliveries', '/deliveries']}
        actions={mayRetry(data) && <Action label="Retry now" run={() => retry(delivery.attempts.length)} />}
      >
        {`Delivery ${id} `}
        <DeliveryState delivery={delivery} /> {isTest(delivery) && <Badge word="Test" tone="calm" />}
      </Title>
      <p role="status" class="outcome">
        {outcome}
      </p>
      <Facts rows={factsOf(data)} />
      <h2>Attempts</h2>
      <Timeline delivery={delivery} />
      <h2>What is sent</h2>
      {delivery.request ? (
        <SentRequest request={delivery.request} url={endpoint?.url} />
      ) : (
        <p class="faint">Its lead was erased, and with it what was sent.</p>
      )}
    </>
  )
}
