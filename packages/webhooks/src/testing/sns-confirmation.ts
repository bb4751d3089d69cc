/** A confirmation of a subscription, signed with the key of the first vector of SNS (contracts/vectors/sns.json). sns-validator accepts it. */
export const SNS_CONFIRMATION = {
  Type: 'SubscriptionConfirmation',
  MessageId: '165545c9-2a5c-472c-8df2-7ff2be2b3b1b',
  Token: '2336412f37',
  TopicArn: 'arn:aws:sns:us-west-2:123456789012:MyTopic',
  Message:
    'You have chosen to subscribe to the topic arn:aws:sns:us-west-2:123456789012:MyTopic.\nTo confirm the subscription, visit the SubscribeURL included in this message.',
  SubscribeURL:
    'https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-west-2:123456789012:MyTopic&Token=2336412f37',
  Timestamp: '2025-10-09T08:53:20.000Z',
  SignatureVersion: '2',
  Signature:
    'pPSm5I50De26+n8Rn5hYY2VpMcaFiL0Ic3mj8KIg6cHt6sDn2drhPoVb27PiBjuZFqx0l2X/uQnexMTDZAw99+7t4v/H+ETL+m3z/ya+rki9Ou0/8O+hAzrAosgKhOIyrFR3Dj18VnpAQrg6CXW4Yh1LhEkA2UUvcFzXFu+4pGAIFONvjozSxQT6Y/29CKmFiHt9MS/Clpzc5SdS2w91tCgoJuf3/olWtcRPutVpQ/P0gf8zsfOIf+sEaxmoBlZvh5CgUOQU/U+kRZvjzYsprR/ZBuTexE995nPJkaGH5wrcvnm58KVADhb5FozPw0rx1ASap7R7PyvpA0VSHKusEA==',
  SigningCertURL: 'https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem',
}
