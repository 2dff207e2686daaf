import { formatPence, type Lead } from '../leads'
import { type Column, Table } from '../parts/table'

type Item = Lead['quotes'][number]['items'][number]

const COLUMNS: Column<Item>[] = [
  { name: 'Item', cell: ({ name, id }) => <span class="wrap">{name || `#${id}`}</span> },
  {
    name: 'Product',
    cell: ({ product_style: { sku, name, product } }) => (
      <span class="wrap">{[product.name, name, sku].filter(Boolean).join(', ')}</span>
    ),
  },
  { name: 'Price', cell: ({ price }) => formatPence(price) },
  {
    name: 'Options',
    cell: ({ options }) => (
      <span class="wrap">
        {Object.entries(options)
          .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`)
          .join(', ') || '–'}
      </span>
    ),
  },
]

/** The quotes of a lead with their items. */
export const LeadQuotes = ({ quotes }: Pick<Lead, 'quotes'>) => (
  <>
    {quotes.map(({ id, status, items }) => (
      <section key={id} class="part" aria-label={`Quote ${id}`}>
        <h2>{`Quote ${id}${status && `, ${status}`}`}</h2>
        {items.length === 0 ? (
          <p class="none">No items</p>
        ) : (
          <Table caption={`Items of quote ${id}`} columns={COLUMNS} rows={items} getKey={(item) => item.id} />
        )}
      </section>
    ))}
  </>
)
