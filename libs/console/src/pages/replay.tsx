import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { api, readData, type Schemas } from '../api'
import { EVENT_OPTIONS, listEndpoints, nameEndpoint } from '../endpoints'
import { Action } from '../parts/action'
import { Badge, type Tone } from '../parts/badge'
import { Boxes, Field, Options, useForm } from '../parts/form'
import { formatCount, formatNumber, LAST_MINUTE } from '../parts/format'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { useQuery } from '../parts/pager'
import { Exactly } from '../parts/time'

type Replayed = Schemas['WebhookEndpointReplay']
type Request = Schemas['ReplayWebhookEndpointRequest']

const POLL_MS = 1000

const STATES: Record<Replayed['state'], { word: string; tone: Tone }> = {
  counted: { word: 'Counted', tone: 'good' },
  running: { word: 'Running', tone: 'warn' },
  done: { word: 'Done', tone: 'good' },
  cancelled: { word: 'Cancelled', tone: 'calm' },
}

const WHICH: [NonNullable<Request['state']>, string][] = [
  ['undelivered', 'Events that were never delivered'],
  ['exhausted', 'Events that failed (exhausted)'],
  ['all', 'All events, including delivered events'],
]

const NAMES = ['state', 'from', 'to', 'after_sequence', 'until_sequence', 'types']

/** Reads the request from the form's fields. Omits empty fields. */
const readRequest = (fields: FormData): Request => {
  const readInstant = (name: string) => {
    const value = String(fields.get(name))
    return value ? new Date(value).toISOString() : undefined
  }
  const readSequence = (name: string) => {
    const value = String(fields.get(name))
    return value ? Number(value) : undefined
  }
  const types = fields.getAll('types') as NonNullable<Request['types']>
  return {
    state: fields.get('state') as Request['state'],
    from: readInstant('from'),
    to: readInstant('to'),
    after_sequence: readSequence('after_sequence'),
    until_sequence: readSequence('until_sequence'),
    types: types.length > 0 ? types : undefined,
  }
}

const retrieve = (id: number, replay: number, signal?: AbortSignal) =>
  readData(
    api().GET('/manage/webhook-endpoints/{id}/replay/{replay_id}', {
      params: { path: { id, replay_id: replay } },
      signal,
    }),
  )

const start = async (id: number, body: Request): Promise<Replayed> =>
  (await readData(api().POST('/manage/webhook-endpoints/{id}/replay', { params: { path: { id } }, body })))
    .data

const Range = ({ id }: { id: number }) => {
  const [, navigate] = useLocation()
  const [, changed] = useQuery()
  const [counting, setCounting] = useState<{ request: Request; matched: number }>()
  const show = (replay: Replayed) => navigate(changed({ replay: String(replay.id) }))
  const count = async (fields: FormData) => {
    const request = readRequest(fields)
    const replay = await start(id, { ...request, dry_run: true })
    // Shows the progress if the count is not complete, because counting the events of a long log takes longer
    // than one request.
    if (replay.state === 'running') show(replay)
    else setCounting({ request, matched: replay.matched })
  }
  const { onSubmit, errors, failure, isBusy } = useForm(count, NAMES)
  const field = (name: string, label: string, type: 'datetime-local' | 'number', help?: string) => (
    <Field name={name} label={label} errors={errors} help={help}>
      {(attributes) => (
        <input {...attributes} type={type} {...(type === 'number' ? { min: 0 } : { max: LAST_MINUTE })} />
      )}
    </Field>
  )
  return (
    <>
      <form
        class="card padded narrow"
        aria-busy={isBusy}
        onSubmit={onSubmit}
        onInput={() => setCounting(undefined)}
      >
        <p>
          The events are sent in the order of the log, together with new events. An event that was never sent
          to this endpoint gets a delivery with all retries.
        </p>
        <Field name="state" label="Which" errors={errors}>
          {(attributes) => (
            <select {...attributes}>
              <Options options={WHICH} chosen="undelivered" />
            </select>
          )}
        </Field>
        {field('from', 'Created from', 'datetime-local')}
        {field('to', 'Created before', 'datetime-local')}
        {field('after_sequence', 'After the sequence number', 'number')}
        {field('until_sequence', 'Up to the sequence number', 'number')}
        <Boxes
          name="types"
          label="Events (select none for all subscribed events)"
          options={EVENT_OPTIONS}
          checked={[]}
          errors={errors}
        />
        {failure}
        <div class="actions">
          <button type="submit">Count</button>
        </div>
      </form>
      {counting && (
        <section class="card padded narrow" aria-label="Count">
          <p role="status">{`${formatCount(counting.matched, 'event matches', 'events match')}.`}</p>
          {counting.matched > 0 && (
            <div class="actions">
              <Action
                label={`Replay ${formatCount(counting.matched, 'event')}`}
                run={async () => show(await start(id, counting.request))}
              />
            </div>
          )}
        </section>
      )}
    </>
  )
}

const Progress = ({
  id,
  replay,
  onChanged,
}: {
  id: number
  replay: Replayed
  onChanged: () => Promise<void>
}) => {
  const cancel = async () => {
    const params = { path: { id, replay_id: replay.id } }
    await api().DELETE('/manage/webhook-endpoints/{id}/replay/{replay_id}', { params })
    showNotice('Cancelled.')
    await onChanged()
  }
  return (
    <section class="card padded" aria-label="Replay">
      <p role="status">
        <Badge {...STATES[replay.state]} />
        {` ${formatNumber(replay.enqueued)} of ${formatCount(replay.matched, 'event')} enqueued.`}
      </p>
      <progress aria-label="Enqueued" max={Math.max(1, replay.matched)} value={replay.enqueued} />
      <Facts
        rows={[
          ['Replay', `#${replay.id}`],
          ['Requested', <Exactly at={replay.created_at} />],
        ]}
      />
      <div class="actions">
        {replay.state === 'running' ? (
          <Action
            label="Cancel replay"
            danger
            run={cancel}
            question={{
              title: 'Cancel this replay?',
              yes: 'Cancel replay',
              content: <p>Events that are already enqueued are still sent. The others are not.</p>,
            }}
          />
        ) : (
          <Link class="button quiet" href={`/endpoints/${id}/replay`}>
            Another replay
          </Link>
        )}
      </div>
    </section>
  )
}

const hasEnded = (state: Replayed['state'] | undefined) => state === 'done' || state === 'cancelled'

/** /endpoints/:id/replay: the form for a replay, or with ?replay= the progress of a replay. */
export const Replay = ({ id: text }: PageProps) => {
  const id = Number(text)
  const [query] = useQuery()
  const shown = Number(query.get('replay')) || undefined
  const { data, problem, refresh } = useLive(
    `${text}?${shown}`,
    async (signal) => {
      const [endpoints, replay] = await Promise.all([
        listEndpoints(signal),
        shown ? retrieve(id, shown, signal) : undefined,
      ])
      return { endpoint: endpoints.find((one) => one.id === id), replay: replay?.data }
    },
    { everyMs: POLL_MS, isFinal: ({ replay }) => hasEnded(replay?.state) },
  )
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { endpoint, replay } = data
  const name = endpoint ? nameEndpoint(endpoint) : `Endpoint ${id}`
  return (
    <>
      <Title title={`Replay to ${name}`} from={[name, `/endpoints/${id}`]} />
      {shown ? replay && <Progress id={id} replay={replay} onChanged={refresh} /> : <Range id={id} />}
    </>
  )
}
