import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, readData, type Schemas } from '../api'
import { type CreatedForm, NewForm } from '../form/new-form'
import { FORM_ATTRIBUTE, renderForm } from '../form/render-form'
import { nameLead } from '../leads'
import { listManagedLeads, type ManagedLead } from '../leads/managed-leads'
import { CopyButton } from '../parts/copy-button'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, type PageProps, Title } from '../parts/page'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'

type Token = Schemas['Token']

/** Returns all tokens of website forms that are not revoked, page by page. */
const listForms = async (signal: AbortSignal): Promise<Token[]> => {
  const tokens: Token[] = []
  let cursor: string | undefined
  do {
    const page = await readData(api().GET('/manage/tokens', { params: { query: { cursor } }, signal }))
    tokens.push(...page.data)
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  return tokens.filter(({ publishable, revoked_at }) => publishable && revoked_at === null)
}

const renderFilter = ({ name }: Token): string => `${FORM_ATTRIBUTE}:${name}`

/** Loads the first lead of a new form. */
const loadFirstLead = async (form: CreatedForm, signal: AbortSignal): Promise<ManagedLead | undefined> => {
  const asked = {
    attribute: renderFilter(form),
    created_from: form.created_at,
    sort: 'created_at',
    cursor: '',
  }
  return (await listManagedLeads({ ...asked, per_page: '1' }, signal)).data[0]
}

interface NewFormProps {
  form: CreatedForm
  firstLead: ManagedLead | undefined
  mayReadLeads: boolean
  onStored: () => void
}

/** The HTML of a new form, and its first lead as soon as the lead arrives. */
const CreatedFormCard = ({ form, firstLead, mayReadLeads, onStored }: NewFormProps) => {
  const html = renderForm(form)
  return (
    <section class="card padded" aria-labelledby="new-form">
      <h2 id="new-form">{`The form ${form.name} (shown only once)`}</h2>
      <p>
        Paste this HTML into a page of {form.origins.join(' or ')}. You may change its texts and its style,
        and add fields. The names of the fields must stay.
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{html}</pre>
      {mayReadLeads && (
        <p role="status">
          {firstLead ? (
            <>
              {'The first lead has arrived: '}
              <Link href={`/leads/${firstLead.reference}`}>
                {`${firstLead.customer.name}: ${nameLead(firstLead)}`}
              </Link>
            </>
          ) : (
            'No lead yet. Send the form from your website: its first lead appears here.'
          )}
        </p>
      )}
      <div class="actions">
        <CopyButton text={html} label="Copy the HTML" />
        <button type="button" class="quiet" onClick={onStored}>
          I have stored it
        </button>
      </div>
    </section>
  )
}

const makeColumns = (mayReadLeads: boolean): Column<Token>[] => [
  { name: 'Name', cell: ({ name }) => <span class="wrap">{name}</span> },
  { name: 'Website', cell: ({ origins }) => <span class="wrap">{origins.join(', ')}</span> },
  {
    name: 'Last sent',
    cell: ({ last_used_at: at }) => (at ? <Ago at={at} /> : <span class="none">never</span>),
  },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
  ...(mayReadLeads
    ? [
        {
          name: 'Leads',
          cell: (form: Token) => (
            <Link href={`/leads?${new URLSearchParams({ attribute: renderFilter(form) })}`}>Show leads</Link>
          ),
        },
      ]
    : []),
]

/** /forms: the forms on websites, each with its own publishable token. */
export const Forms = ({ scopes }: PageProps) => {
  const [created, setCreated] = useState<CreatedForm>()
  const mayReadLeads = scopes.has('leads:read')
  const { data, problem, refresh } = useLive('forms', async (signal) => {
    const [forms, firstLead] = await Promise.all([
      listForms(signal),
      created && mayReadLeads ? loadFirstLead(created, signal) : undefined,
    ])
    return { forms, firstLead }
  })
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const show = async (form: CreatedForm) => {
    setCreated(form)
    await refresh()
  }
  return (
    <>
      <Title title="Website forms" actions={scopes.has('manage') && <NewForm onCreated={show} />} />
      <p class="faint">
        A form on your website creates leads. A new form gives you the HTML for your page. To stop a form,{' '}
        <Link href="/tokens">revoke its token</Link>. The leads of a form are found by its hidden field{' '}
        <code>{FORM_ATTRIBUTE}</code>.
      </p>
      {created && (
        <CreatedFormCard
          key={created.id}
          form={created}
          firstLead={data.firstLead}
          mayReadLeads={mayReadLeads}
          onStored={() => setCreated(undefined)}
        />
      )}
      {data.forms.length === 0 ? (
        <Empty>There are no website forms yet.</Empty>
      ) : (
        <Table
          caption="Website forms"
          columns={makeColumns(mayReadLeads)}
          rows={data.forms}
          getKey={({ id }) => id}
        />
      )}
    </>
  )
}
