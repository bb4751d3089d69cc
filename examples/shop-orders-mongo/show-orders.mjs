// Prints the orders of a database: node show-orders.mjs <url>
import { MongoClient } from 'mongodb'

const client = new MongoClient(process.argv[2] ?? '')
console.log(await client.db().collection('orders').find().toArray())
await client.close()
