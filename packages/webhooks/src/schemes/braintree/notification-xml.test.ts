import { describe, expect, it } from 'vitest'
import { readNotification } from './notification-xml.ts'

function read(content: string): unknown {
  return readNotification(`<?xml version="1.0" encoding="UTF-8"?>\n<notification>\n  ${content}\n</notification>\n`)
}

describe('the XML of a notification', () => {
  it.each([
    ['text', '<kind>check</kind>', { kind: 'check' }],
    ['text between blanks as it is', '<kind> check\n</kind>', { kind: ' check\n' }],
    ['nothing', '<kind></kind><subject/>', { kind: '', subject: '' }],
    ['what is nil', '<order-id nil="true"/><a type="integer" nil="true"></a>', { 'order-id': null, a: null }],
    [
      'true, false and integers',
      '<a type="boolean">true</a><b type="boolean">false</b><c type="integer">-12</c>',
      { a: true, b: false, c: -12 },
    ],
    ['booleans and integers that are none as text', '<a type="boolean">1</a><b type="integer"></b>', { a: '1', b: '' }],
    [
      'attributes in single quotes, as in one notification of the library of Braintree',
      `<a type='dateTime'>x</a><b type='array'><c>1</c></b><d nil='true'/>`,
      { a: 'x', b: ['1'], d: null },
    ],
    ['long integers as text', '<a type="integer">12345678901234567890</a>', { a: '12345678901234567890' }],
    ['elements in elements', '<subject><check  type="x" >1</check ></subject>', { subject: { check: '1' } }],
    [
      'lists, also empty ones',
      '<a type="array"><b><id>1</id></b><b><id>2</id></b></a><c type="array"></c><d type="array"/>',
      { a: [{ id: '1' }, { id: '2' }], c: [], d: [] },
    ],
    ['elements of one name as a list', '<a>1</a><b>2</b><a>3</a>', { a: ['1', '3'], b: '2' }],
    [
      'what a customer has typed as text',
      '<a>&lt;kind&gt;x&lt;/kind&gt; &amp;lt; &quot;&apos; &#8364;&#x20AC;</a>',
      { a: '<kind>x</kind> &lt; "\' €€' },
    ],
    ['names that objects have anyway', '<__proto__><a>1</a></__proto__>', JSON.parse('{"__proto__":{"a":"1"}}')],
  ])('has %s', (_, content, document) => {
    expect(read(content)).toEqual(document)
  })

  it.each([
    ['a comment', '<kind>ch<!-- -->eck</kind>'],
    ['CDATA', '<kind><![CDATA[check]]></kind>'],
    ['an instruction', '<?x y?><kind>check</kind>'],
    ['an entity of its own', '<kind>&xxe;</kind>'],
    ['an ampersand', '<kind>a & b</kind>'],
    ['a character that is none', '<kind>&#55296;</kind>'],
    ['the character 0', '<kind>&#0;</kind>'],
    ['text beside elements', '<subject>x<check>1</check></subject>'],
    ['an end that is not that of the element', '<a><b>1</a></b>'],
    ['an end of nothing', '</notification><notification>'],
    ['no end', '<a>1'],
    ['an attribute without quotes', '<a type=array></a>'],
    ['an attribute with an end in it', '<a type="</a>"></a>'],
    ['an attribute with two kinds of quotes', `<a type="array'></a>`],
    ['a nil with text', '<a nil="true">1</a>'],
    ['more levels than anything needs', '<a>'.repeat(65) + '</a>'.repeat(65)],
  ])('with %s is not read', (_, content) => {
    expect(read(content)).toBeNull()
  })

  it.each([
    '',
    'notification',
    '<subject/>',
    '<notification/>',
    '<notification>x</notification>',
    '<notification><kind>a</kind></notification><notification><kind>b</kind></notification>',
    '<!DOCTYPE notification [<!ENTITY x "y">]><notification><kind>&x;</kind></notification>',
    'x<notification><kind>a</kind></notification>',
    '<?xml version="1.0"?><?xml version="1.0"?><notification><kind>a</kind></notification>',
  ])('that is not one notification is not read: %s', (xml) => {
    expect(readNotification(xml)).toBeNull()
  })

  it('takes no longer for hostile bodies than for others', () => {
    const long = 200_000
    for (const xml of [
      `<a ${' '.repeat(long)}`,
      `<a ${'b="c" '.repeat(long / 6)}`,
      '<a>'.repeat(long / 3),
      '&'.repeat(long),
      `<notification>${'<a/>'.repeat(long)}`,
      `<notification><b>${'<a/>'.repeat(long)}</b>`,
    ]) {
      const { user: before } = process.threadCpuUsage()
      expect(readNotification(xml)).toBeNull()
      expect(process.threadCpuUsage().user - before).toBeLessThan(2_000_000)
    }
  })
})
