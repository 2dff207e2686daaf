import { Link } from 'wouter-preact'
import { api } from '../api'
import { STATUS_LABELS } from '../deliveries'
import { type Endpoint, nameEndpoint } from '../endpoints'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { formatCount, formatNumber } from '../parts/format'
import { showNotice } from '../parts/notices'
import { Facts } from '../parts/page'
import { createJsonFile, saveFile } from '../parts/save-file'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'
import { nameActor } from '../users'
import type { Erasure } from './load-lead'
import type { LeadPage } from './use-lead'

type Place = Erasure['erased'][number]

const STORES: Record<Place['store'], string> = {
  postgresql: 'Database',
  object_store: 'File store',
  jetstream: 'Message stream',
}

const REMAINS: Record<Erasure['remains'][number]['where'], string> = {
  imports: 'files of unfinished imports',
  stream: 'events in the message stream',
  wal: 'the log of the database',
  backups: 'backups',
}

const COLUMNS: Column<Place>[] = [
  { name: 'Data', cell: ({ what }) => what.replaceAll('_', ' ') },
  { name: 'Store', cell: ({ store }) => STORES[store] },
  { name: 'Erased', cell: ({ count }) => (count === null ? 'not yet' : formatNumber(count)) },
  { name: 'When', cell: ({ erased_at: at }) => (at ? <Exactly at={at} /> : <span class="none">–</span>) },
]

interface ReceiptProps {
  erasure: Erasure
  /** Undefined if the user may not read endpoints. */
  endpoints: Endpoint[] | undefined
}

/** The endpoints that receive the event of the erasure, so that they can erase their copies. */
const Receivers = ({ erasure: { receivers, receivers_unavailable: reason }, endpoints }: ReceiptProps) => {
  if (receivers === null) return reason
  if (receivers.length === 0) return <>None: no endpoint receives the event Lead erased</>
  return (
    <>
      {receivers.map(({ endpoint_id, delivery_id, status }) => {
        const endpoint = endpoints?.find(({ id }) => id === endpoint_id)
        const name = endpoint ? nameEndpoint(endpoint) : `Endpoint ${endpoint_id}`
        return (
          <span key={delivery_id} class="line wrap">
            <Link href={`/deliveries/${delivery_id}`}>{name}</Link>
            {`: ${STATUS_LABELS[status]}`}
          </span>
        )
      })}
    </>
  )
}

/** The receipt of an erasure: the erased data, and the places where data remains for a time. */
export const Receipt = ({ erasure, endpoints }: ReceiptProps) => (
  <>
    <div class="heading">
      <h2>
        {'Erasure '}
        {erasure.status === 'done' ? <Badge word="Done" tone="good" /> : <Badge word="Running" tone="warn" />}
      </h2>
      <Action
        label="Download receipt"
        quiet
        run={() => saveFile(`erasure-${erasure.lead_reference}.json`, async () => createJsonFile(erasure))}
      />
    </div>
    <Facts
      rows={[
        ['Reference of the lead', <span class="mono wrap">{erasure.lead_reference}</span>],
        ['Requested by', erasure.actor && <span class="wrap">{nameActor(erasure.actor)}</span>],
        ['Requested', <Exactly at={erasure.requested_at} />],
        ['Finished', erasure.finished_at && <Exactly at={erasure.finished_at} />],
        [
          'Receivers notified',
          (erasure.receivers ?? erasure.receivers_unavailable) && (
            <Receivers erasure={erasure} endpoints={endpoints} />
          ),
        ],
        ...erasure.remains.map(({ where, until }): [string, preact.ComponentChildren] => [
          `Remains in ${REMAINS[where]}`,
          until ? (
            <>
              until <Exactly at={until} />
            </>
          ) : (
            'until an unknown date (ask the operator)'
          ),
        ]),
      ]}
    />
    <Table caption="Erased data" columns={COLUMNS} rows={erasure.erased} getKey={({ what }) => what} />
  </>
)

/** Says that other leads of the same person are not erased. */
const OtherLeads = ({ count }: { count: number }) => {
  if (count === 0) return null
  const seem = count === 1 ? 'seems' : 'seem'
  return (
    <p>
      <strong>{`${formatCount(count, 'other lead')} ${seem} to be about the same person.`}</strong> Only this
      lead is erased. Erase the others, too: this page lists them under Duplicates.
    </p>
  )
}

/** The button that erases the personal data of a lead, with a dialog. */
export const EraseLead = ({ page: { lead, shown, refresh } }: { page: LeadPage }) => (
  <Action
    label="Erase"
    quiet
    danger
    run={async () => {
      const params = { path: { reference: lead.reference } }
      await api().POST('/manage/leads/{reference}/erase', { params })
      showNotice('The lead was erased. Copies in other places are erased within a minute.')
      await refresh()
    }}
    question={{
      title: `Erase ${lead.name}?`,
      yes: 'Erase permanently',
      content: (
        <>
          <OtherLeads count={shown.suspects.length} />
          <p>This can't be undone. It permanently removes:</p>
          <ul>
            <li>the customer: name, company, e-mail, phone numbers, address</li>
            <li>the name, description and postcode of the lead, and the visitor's browser and IP address</li>
            <li>the texts of quotes, all files, and the values in the history</li>
            <li>the content of webhooks and notifications, and the responses of receivers</li>
          </ul>
          <p>Undelivered webhooks and notifications are cancelled. The lead can't be changed afterwards.</p>
          <p class="faint">
            Number, reference, status, value, prices and times are kept. Data that was already sent or
            exported is not affected.
          </p>
        </>
      ),
    }}
  />
)
