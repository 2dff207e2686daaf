import { Link } from 'wouter-preact'
import type { Scope } from '../api'
import type { Delivery } from '../deliveries'
import { labelEvent } from '../endpoints'
import { CopyButton } from '../parts/copy-button'
import { Facts } from '../parts/page'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'
import { nameActor } from '../users'
import type { HistoryEntry } from './load-lead'
import type { LeadPage } from './use-lead'

const isKnown = (text: string) => text !== '' && text !== 'unknown'

const LeadFacts = ({ page: { lead, shown } }: { page: LeadPage }) => (
  <Facts
    rows={[
      [
        'Reference',
        <span class="actions">
          <span class="mono wrap">{lead.reference}</span> <CopyButton text={lead.reference} />
        </span>,
      ],
      ['Number', lead.id],
      ['External ID', lead.external_id],
      ['Customer ID', lead.customer.id],
      ['ETag', <span class="mono">{shown.etag}</span>],
      ['Type', lead.type],
      ['Browser', [lead.browser, lead.browser_version].filter(isKnown).join(' ')],
      ['System', [lead.os, lead.os_version, lead.device_type, lead.device_name].filter(isKnown).join(', ')],
      ['User agent', lead.user_agent],
      ['IP address', lead.ip],
      ['Created', <Exactly at={lead.created_at} />],
      ['Updated', <Exactly at={lead.updated_at} />],
    ]}
  />
)

const CHANGE_COLUMNS: Column<HistoryEntry>[] = [
  { name: 'Version', cell: ({ version }) => version },
  {
    name: 'By',
    cell: ({ actor }) =>
      actor ? (
        <span class="wrap">{`${nameActor(actor)} (${actor.type} ${actor.id})`}</span>
      ) : (
        <span class="none">not recorded</span>
      ),
  },
  {
    name: 'Request',
    cell: ({ request_id }) =>
      request_id ? <span class="mono wrap">{request_id}</span> : <span class="none">not recorded</span>,
  },
  { name: 'When', cell: ({ at }) => <Exactly at={at} /> },
]

const EVENT_COLUMNS: Column<Delivery>[] = [
  { name: 'Event', cell: ({ event }) => labelEvent(event) },
  { name: 'ID', cell: ({ event_id }) => <span class="mono wrap">{event_id}</span> },
  { name: 'When', cell: ({ created_at }) => <Exactly at={created_at} /> },
]

/** Returns one delivery of each event. */
const listEvents = (deliveries: Delivery[]): Delivery[] => [
  ...new Map(deliveries.map((delivery) => [delivery.event_id, delivery])).values(),
]

const Events = ({ page, scopes }: { page: LeadPage; scopes: Set<Scope> }) => {
  const { reference } = page.lead
  const events = listEvents(page.shown.lists.deliveries.rows)
  return (
    <>
      <div class="heading">
        <h2>Events with deliveries</h2>
        <span class="actions">
          <Link href={`/deliveries?lead_reference=${reference}`}>All deliveries</Link>
          {scopes.has('manage:read') && (
            <Link href={`/notifications?lead_reference=${reference}`}>Notifications</Link>
          )}
        </span>
      </div>
      {events.length === 0 ? (
        <p class="none">None</p>
      ) : (
        <Table
          caption="Events, newest first"
          columns={EVENT_COLUMNS}
          rows={events}
          getKey={(event) => event.event_id}
        />
      )}
    </>
  )
}

/** The ids and the stored data of a lead, for support and developers. */
export const TechnicalDetails = ({ page, scopes }: { page: LeadPage; scopes: Set<Scope> }) => (
  <>
    <LeadFacts page={page} />
    <h2>Attributes</h2>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
    <pre tabIndex={0}>{JSON.stringify(page.lead.attributes, null, 2)}</pre>
    <h2>Changes</h2>
    <Table
      caption="Changes, newest first"
      columns={CHANGE_COLUMNS}
      rows={page.shown.lists.history.rows}
      getKey={({ version }) => version}
    />
    {page.shown.endpoints && <Events page={page} scopes={scopes} />}
  </>
)
