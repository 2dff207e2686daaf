import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, dataOf, ownEndpoint, type Schemas } from '../api'
import { listDeliveries, outcomeOf } from '../deliveries'
import {
  deliveriesOf,
  EVENT_OPTIONS,
  eventWords,
  filterWords,
  LEADS_WORDS,
  nameOf,
  revealed,
  type ShownEndpoint,
  totalOf,
  verdictOf,
  watchEndpoint,
} from '../endpoints'
import { Action } from '../parts/action'
import { AttemptsChart } from '../parts/attempts-chart'
import { Badge } from '../parts/badge'
import { DeliveriesTable, DeliveryState } from '../parts/deliveries-table'
import { Options } from '../parts/form'
import { counted, number, successRate } from '../parts/format'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Recover, type Recovered, RecoveryProgress } from '../parts/recover'
import { RotateSecret } from '../parts/rotate-secret'
import { Secret } from '../parts/secret'
import { Ago, Exactly } from '../parts/time'

type Tested = Schemas['TestedWebhookEndpoint']
type EventType = Tested['event']

const LATEST = 10

const SecretOnce = () =>
  revealed.value && (
    <Secret
      title="The new secret, shown only now"
      secret={revealed.value.secret}
      note={revealed.value.note}
      onStored={() => {
        revealed.value = undefined
      }}
    />
  )

const TestOutcome = ({ sent }: { sent?: Tested }) => (
  <p role="status" class="outcome">
    {sent && (
      <>
        {`Test of ${eventWords(sent.event)}: `}
        <DeliveryState delivery={sent} />
        {sent.attempt ? ` ${outcomeOf(sent.attempt)}. ` : ' No response within 5 seconds. '}
        <Link href={`/deliveries/${sent.id}`}>{`Delivery ${sent.id}`}</Link>
      </>
    )}
  </p>
)

/** Where webhooks come from, for the firewall of the receiver; nothing where that is not set. */
const Sources = () => {
  const [addresses, setAddresses] = useState<string[]>([])
  useEffect(() => {
    const load = dataOf(api().GET('/manage/webhook-sources'))
    load.then(({ data }) => setAddresses(data.addresses)).catch(() => undefined)
  }, [])
  return addresses.length > 0 && <p class="faint wrap">{`Webhooks come from ${addresses.join(', ')}.`}</p>
}

const Figures = ({ endpoint: { id, health } }: { endpoint: ShownEndpoint }) => {
  const linked = (status: 'pending' | 'held' | 'exhausted') =>
    health[status] ? <Link href={deliveriesOf(id, status)}>{number(health[status])}</Link> : '0'
  return (
    <dl class="tiles">
      {(
        [
          ['Last success', health.last_success_at ? <Ago at={health.last_success_at} /> : 'never'],
          ['Success, 24 h', successRate(totalOf(health.hours))],
          ['Waiting', linked('pending')],
          ['Paused (held)', linked('held')],
          ['Failed (exhausted)', linked('exhausted')],
        ] as const
      ).map(([name, value]) => (
        <div key={name} class="tile">
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

const deliveries = (count: number) => counted(count, 'delivery', 'deliveries')

/** /endpoints/:id: one endpoint, what can be done about it, and its latest deliveries. */
export const Endpoint = ({ id: text }: { id: string }) => {
  const id = Number(text)
  const params = { path: { id } }
  const [, navigate] = useLocation()
  const { data, problem, refresh } = useLive(text, async (signal) => {
    const [endpoint, page] = await Promise.all([
      watchEndpoint(id, signal),
      listDeliveries({ endpoint_id: text }, signal),
    ])
    return { endpoint, latest: page.data.slice(0, LATEST) }
  })
  const [sent, setSent] = useState<Tested>()
  const [type, setType] = useState<EventType>()
  const [asked, setAsked] = useState<Recovered>()
  const [link, setLink] = useState<string>()
  const isOwn = ownEndpoint.value !== null
  useEffect(
    () => () => {
      revealed.value = undefined
    },
    [],
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { endpoint, latest } = data
  const { enabled, health } = endpoint
  const { word, tone, because } = verdictOf(endpoint)

  const sendTest = async () => {
    setSent(undefined)
    setSent(
      (
        await dataOf(
          api().POST('/manage/webhook-endpoints/{id}/test', {
            params,
            body: { type: type ?? endpoint.events[0] },
          }),
        )
      ).data,
    )
    await refresh()
  }
  const enable = async (to: boolean) => {
    await api().PATCH('/manage/webhook-endpoints/{id}', { params, body: { enabled: to } })
    say(to ? 'Enabled: what was paused is sent.' : 'Disabled: its deliveries are paused (held).')
    await refresh()
  }
  const remove = async () => {
    await api().DELETE('/manage/webhook-endpoints/{id}', { params })
    say(`${nameOf(endpoint)} is deleted.`)
    navigate('/endpoints')
  }

  const share = async () => {
    const { url } = (await dataOf(api().POST('/manage/webhook-endpoints/{id}/portal', { params }))).data
    setLink(url)
  }

  const waiting = health.pending + health.held
  return (
    <>
      <Title
        title={nameOf(endpoint)}
        from={isOwn ? undefined : ['Endpoints', '/endpoints']}
        actions={
          <>
            {enabled && (
              <>
                <select
                  aria-label="Type of the test"
                  onChange={({ currentTarget }) => setType(currentTarget.value as EventType)}
                >
                  <Options options={EVENT_OPTIONS} chosen={type ?? endpoint.events[0]} />
                </select>
                <Action label="Send a test" run={sendTest} />
              </>
            )}
            {!enabled && <Action label="Enable" run={() => enable(true)} />}
            <Link class="button quiet" href={`/endpoints/${id}/edit`}>
              Edit
            </Link>
            <RotateSecret id={id} />
            {enabled && (
              <Action
                label="Disable"
                quiet
                run={() => enable(false)}
                question={{
                  title: `Disable ${nameOf(endpoint)}?`,
                  content: (
                    <p>
                      {`Nothing is sent to it until you enable it. Waiting now: ${deliveries(health.pending)}. They are paused (held) and kept, as are those of new events.`}
                    </p>
                  ),
                  yes: 'Disable',
                }}
              />
            )}
            {!isOwn && (
              <>
                <Action label="Share" quiet run={share} />
                <Action
                  label="Delete"
                  quiet
                  danger
                  run={remove}
                  question={{
                    title: `Delete ${nameOf(endpoint)}?`,
                    content: (
                      <p>
                        {`Nothing is sent to it any more. Waiting or paused now: ${deliveries(waiting)}. They are cancelled. This can not be undone.`}
                      </p>
                    ),
                    yes: 'Delete',
                  }}
                />
              </>
            )}
          </>
        }
      >
        {nameOf(endpoint)} <Badge word={word} tone={tone} />
      </Title>
      <p class="mono faint wrap">{endpoint.url}</p>
      <p class="faint">
        {`${because}. ${LEADS_WORDS[endpoint.leads]}. Events: ${endpoint.events.map(eventWords).join(', ')}.`}
      </p>
      {endpoint.filter && <p class="faint">{`Only of leads with: ${filterWords(endpoint.filter)}`}</p>}
      {endpoint.previous_secret_until && (
        <p class="faint">
          The secret before signs too, until <Exactly at={endpoint.previous_secret_until} />.
        </p>
      )}
      <Sources />
      <TestOutcome sent={sent} />
      <SecretOnce />
      {link && (
        <Secret
          title="A link to this endpoint, shown only now"
          secret={link}
          note="For the operator of the receiver. It opens once, within an hour, and shows this endpoint and its deliveries alone. To end it, revoke its token."
          onStored={() => setLink(undefined)}
        />
      )}
      <RecoveryProgress endpoint={endpoint} asked={asked} />
      <Figures endpoint={endpoint} />
      {enabled && (
        <div class="actions">
          <Recover
            endpoint={endpoint}
            onAsked={async (recovered) => {
              setAsked(recovered)
              await refresh()
            }}
          />
          <Link class="button quiet" href={`/endpoints/${id}/replay`}>
            Replay events
          </Link>
        </div>
      )}
      <AttemptsChart hours={health.hours} />
      <div class="heading">
        <h2>Latest deliveries</h2>
        <Link href={deliveriesOf(id)}>All deliveries</Link>
      </div>
      {latest.length === 0 ? (
        <Empty>Nothing was sent here yet.</Empty>
      ) : (
        <DeliveriesTable deliveries={latest} />
      )}
    </>
  )
}
