import { Link } from 'wouter-preact'
import { api, readData } from '../api'
import { ChangeLead } from '../lead/change-lead'
import { EraseLead, Receipt } from '../lead/erase-lead'
import { LeadDuplicates } from '../lead/lead-duplicates'
import { LeadFiles } from '../lead/lead-files'
import { LeadHistory } from '../lead/lead-history'
import { LeadQuotes } from '../lead/lead-quotes'
import { findAssignedUser, type LeadWebhooks, loadLead, type ShownLead } from '../lead/load-lead'
import { ScheduledList } from '../lead/scheduled-list'
import {
  chooseTone,
  formatPounds,
  isErased,
  type Lead as LeadRecord,
  nameLead,
  STATUS_LABELS,
} from '../leads'
import { Action } from '../parts/action'
import { Badge } from '../parts/badge'
import { CopyButton } from '../parts/copy-button'
import { DeliveriesTable } from '../parts/deliveries-table'
import { useLive } from '../parts/live'
import { type FactRows, Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { createJsonFile, saveFile } from '../parts/save-file'
import { Exactly } from '../parts/time'
import { describeAssigned } from '../users'

const LATEST = 10

const isKnown = (text: string) => text !== '' && text !== 'unknown'

const listFacts = ({ lead, managedLead, history }: ShownLead): FactRows => {
  const user = findAssignedUser(history)
  return [
    [
      'Reference',
      <span class="actions">
        <span class="mono wrap">{lead.reference}</span> <CopyButton text={lead.reference} />
      </span>,
    ],
    ['Value', formatPounds(lead.value)],
    ['Assigned user', user !== undefined && describeAssigned(user)],
    ['Description', lead.description],
    ['Postcode', lead.postcode],
    ['Referrer', lead.referrer_url ? `${lead.referrer}: ${lead.referrer_url}` : lead.referrer],
    ['Browser', [lead.browser, lead.browser_version, lead.os, lead.device_type].filter(isKnown).join(', ')],
    ['External ID', managedLead.external_id],
    ...Object.entries(managedLead.attributes ?? {}).map(([key, value]): [string, string] => [
      key,
      String(value),
    ]),
    ['Created', <Exactly at={lead.created_at} />],
    ['Updated', <Exactly at={lead.updated_at} />],
  ]
}

const listCustomerFacts = ({ customer }: LeadRecord): FactRows => [
  ['Name', customer.name],
  ['Company', customer.company_name],
  [
    'E-mail',
    <a href={`mailto:${encodeURIComponent(customer.email).replaceAll('%40', '@')}`}>{customer.email}</a>,
  ],
  ['Phone', <a href={customer.phone_link}>{customer.phone}</a>],
  ['Mobile', customer.mobile && <a href={customer.mobile_link ?? undefined}>{customer.mobile}</a>],
  [
    'Address',
    [customer.address_1, customer.address_2, customer.city, customer.county, customer.postcode]
      .filter(Boolean)
      .join(', '),
  ],
]

const Deliveries = ({
  reference,
  webhooks: { deliveries, endpoints },
  mayReadNotifications,
}: {
  reference: string
  webhooks: LeadWebhooks
  mayReadNotifications: boolean
}) => (
  <>
    <div class="heading">
      <h2>Deliveries</h2>
      <span class="actions">
        <Link href={`/deliveries?lead_reference=${reference}`}>All deliveries</Link>
        {mayReadNotifications && (
          <Link href={`/notifications?lead_reference=${reference}`}>Notifications</Link>
        )}
      </span>
    </div>
    {deliveries.length === 0 ? (
      <p class="none">None</p>
    ) : (
      <DeliveriesTable deliveries={deliveries.slice(0, LATEST)} endpoints={endpoints} />
    )}
  </>
)

const exportLead = (reference: string) =>
  saveFile(`lead-${reference}.json`, async () => {
    const params = { path: { reference } }
    return createJsonFile((await readData(api().GET('/manage/leads/{reference}/export', { params }))).data)
  })

/** /leads/:id, where the id is a reference: one lead with all its records. */
export const Lead = ({ id: reference, scopes }: PageProps) => {
  const { data, problem, refresh } = useLive(reference, (signal) => loadLead(reference, scopes, signal))
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { lead, canChange, webhooks, erasure, history } = data
  const mayManage = scopes.has('manage')
  const props = { shown: data, refresh }
  return (
    <>
      <Title
        title={nameLead(lead)}
        from={['Leads', '/leads']}
        actions={
          <>
            {scopes.has('manage:read') && <Action label="Export" quiet run={() => exportLead(reference)} />}
            {mayManage && !isErased(lead) && <EraseLead lead={lead} refresh={refresh} />}
          </>
        }
      >
        {`${nameLead(lead)} `}
        <Badge word={STATUS_LABELS[lead.status]} tone={chooseTone(lead.status)} />{' '}
        {lead.test === 1 && <Badge word="Test lead" tone="held" />}
      </Title>
      {erasure && <Receipt erasure={erasure} />}
      <Facts rows={listFacts(data)} />
      {canChange && <ChangeLead {...props} />}
      {!isErased(lead) && (
        <>
          <h2>Customer</h2>
          <Facts rows={listCustomerFacts(lead)} />
        </>
      )}
      {!isErased(lead) && <LeadDuplicates {...props} canMark={scopes.has('leads') || mayManage} />}
      <LeadQuotes quotes={lead.quotes} />
      <ScheduledList kind="appointments" {...props} />
      <ScheduledList kind="callbacks" {...props} />
      <LeadFiles {...props} />
      {webhooks && (
        <Deliveries
          reference={reference}
          webhooks={webhooks}
          mayReadNotifications={scopes.has('manage:read')}
        />
      )}
      <LeadHistory history={history} />
    </>
  )
}
